// The buttons of wallets, shown where the browser can pay so. They use what browsers have built in: nothing of Google or Apple is loaded
// into the page.

/** What each wallet hands out, where its token is in it. */
interface Paid {
  readonly token: { readonly paymentData: object };
  readonly paymentMethodData: { readonly tokenizationData: { readonly token: string } };
}

/** Apple asks who the merchant is, before it shows anything. */
interface MerchantValidation extends Event {
  readonly validationURL: string;
  complete(session: Promise<unknown>): void;
}

const TOKENS: Readonly<Record<string, (paid: Paid) => string>> = {
  apple_pay: ({ token }) => JSON.stringify(token.paymentData),
  google_pay: ({ paymentMethodData }) => paymentMethodData.tokenizationData.token,
};

type Make = () => PaymentRequest;

let isAsking = false;

export function offerWallets(form: HTMLFormElement): void {
  if (!('PaymentRequest' in window)) return;
  for (const button of form.querySelectorAll('button')) {
    // Each can be shown once.
    const make = () =>
      new PaymentRequest(
        ...(JSON.parse(button.dataset.request ?? '') as ConstructorParameters<typeof PaymentRequest>),
      );
    void canPay(make).then((can) => {
      if (!can) return;
      button.hidden = false;
      form.hidden = false;
    });
    button.addEventListener('click', () => void pay(form, button, make));
  }
}

async function canPay(make: Make): Promise<boolean> {
  try {
    return await make().canMakePayment();
  } catch {
    return false;
  }
}

async function pay(form: HTMLFormElement, button: HTMLButtonElement, make: Make): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  const alert = form.querySelector('[role="alert"]') as HTMLElement;
  alert.textContent = '';
  try {
    const request = make();
    request.addEventListener('merchantvalidation', (event) => {
      const asked = event as MerchantValidation;
      asked.complete(sessionFor(asked.validationURL));
    });
    const response = await request.show();
    const token = (TOKENS[button.value] as (paid: Paid) => string)(response.details as Paid);
    // Whether it is paid the page says, and not the wallet.
    await response.complete('unknown');
    for (const other of form.querySelectorAll('button')) other.hidden = other !== button;
    form.append(field('wallet', button.value), field('token', token));
    form.requestSubmit();
  } catch (error) {
    // What the payer has closed needs no words.
    if ((error as Error).name !== 'AbortError') alert.textContent = form.dataset.failed ?? '';
  } finally {
    isAsking = false;
  }
}

async function sessionFor(address: string): Promise<unknown> {
  const answer = await fetch(`${location.pathname}/apple-pay`, {
    method: 'POST',
    body: new URLSearchParams({ address }),
  });
  if (!answer.ok) throw new Error('no session');
  return answer.json();
}

function field(name: string, value: string): HTMLInputElement {
  const input = document.createElement('input');
  input.type = 'hidden';
  input.name = name;
  input.value = value;
  return input;
}

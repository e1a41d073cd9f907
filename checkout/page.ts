// What the page of a checkout does where scripts run: it groups digits, knows the card as it is typed, cannot be clicked twice, and shows by
// itself what has come of a payment. Without it the page says and does all the same.
import { cardTypeOf, grouped, withSlash } from './typing.js';
import { offerWallets } from './wallets.js';

const { status, frames } = document.body.dataset;

if (status === 'open') {
  for (const form of document.querySelectorAll('form')) {
    typing(form);
    once(form);
    if (form.className === 'wallets') offerWallets(form);
  }
  document.querySelector<HTMLElement>('#notice')?.focus();
}
if (status === 'processing') watch();
if (frames !== undefined && window.parent !== window) report(frames.split(' '));

// Back and forward show the page as it was: as it is now is what counts.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

function typing(form: HTMLFormElement): void {
  const number = form.querySelector<HTMLInputElement>('#number');
  const expiry = form.querySelector<HTMLInputElement>('#expiry');
  number?.addEventListener('input', () => {
    keepingPlace(number, grouped(number.value));
    showType(form, cardTypeOf(number.value));
  });
  expiry?.addEventListener('input', (event) => {
    // What somebody takes away stays away.
    if ((event as InputEvent).inputType?.startsWith('delete')) return;
    keepingPlace(expiry, withSlash(expiry.value));
  });
  for (const choice of form.querySelectorAll<HTMLInputElement>('[name="method"]'))
    choice.addEventListener('change', () =>
      showTotal(form, choice.value === 'bankaccount' ? 'bankaccount' : cardTypeOf(number?.value ?? '')),
    );
}

/** The cursor stays behind the digit that it was behind. */
function keepingPlace(input: HTMLInputElement, text: string): void {
  if (text === input.value) return;
  if (input.selectionStart === input.value.length) {
    input.value = text;
    return;
  }
  const before = input.value.slice(0, input.selectionStart ?? 0).replaceAll(/\D/g, '').length;
  input.value = text;
  let at = 0;
  for (let digits = 0; at < text.length && digits < before; at += 1)
    if (/\d/.test(text[at] ?? '')) digits += 1;
  if (before > 0 && /\D/.test(text[at] ?? '')) at += 1;
  input.setSelectionRange(at, at);
}

function showType(form: HTMLFormElement, type: string): void {
  form.querySelector<HTMLElement>('.creditcard')?.setAttribute('data-type', type);
  showTotal(form, type);
}

/** What this card costs, on the button and in the table above. */
function showTotal(form: HTMLFormElement, type: string): void {
  const rows = document.querySelectorAll<HTMLElement>('tr[data-types]');
  const button = form.querySelector('button');
  if (rows.length === 0 || button === null) return;
  button.dataset.plain ??= button.textContent ?? '';
  let total = '';
  for (const row of rows) {
    const isOurs = type !== '' && (row.dataset.types ?? '').split(' ').includes(type);
    row.classList.toggle('ours', isOurs);
    if (isOurs) total = row.querySelector('td')?.textContent ?? '';
  }
  button.textContent = `${button.dataset.plain} ${total}`.trim();
}

/** A second click, or Return held down, sends nothing. */
function once(form: HTMLFormElement): void {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent !== undefined) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = 'yes';
    const button = form.querySelector('button:not([hidden])');
    if (button === null) return;
    button.setAttribute('aria-disabled', 'true');
    button.textContent = form.dataset.wait ?? '';
    form.setAttribute('aria-busy', 'true');
  });
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/** Until the outcome is known. Without a network, it is asked again. */
function watch(): void {
  let pauseMs = FIRST_PAUSE_MS;
  const ask = async () => {
    const answer = await fetch(`${location.pathname}/status`, { cache: 'no-store' })
      .then((response) => (response.ok ? (response.json() as Promise<{ status: string }>) : undefined))
      .catch(() => undefined);
    if (answer !== undefined && answer.status !== 'processing') {
      location.reload();
      return;
    }
    pauseMs = Math.min(pauseMs * 1.3, LONGEST_PAUSE_MS);
    setTimeout(() => void ask(), pauseMs);
  };
  setTimeout(() => void ask(), pauseMs);
}

/** To the shop's page that shows this one in a frame: how high it is, and how it has ended. Nothing else, and to nobody else. */
function report(origins: readonly string[]): void {
  const tell = (message: object) => {
    for (const origin of origins) window.parent.postMessage({ tollgate: 1, ...message }, origin);
  };
  const height = () => tell({ type: 'height', height: document.documentElement.offsetHeight });
  new ResizeObserver(height).observe(document.documentElement);
  height();
  if (status === 'complete') tell({ type: 'complete' });
  if (status === 'cancelled') tell({ type: 'cancelled' });
  for (const link of document.querySelectorAll('a.back'))
    link.addEventListener('click', (event) => {
      event.preventDefault();
      tell({ type: status === 'complete' ? 'complete' : 'cancelled' });
    });
}

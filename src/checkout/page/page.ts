// The page of a checkout, as HTML: complete without a script, which only makes it more comfortable.
import type { Merchant } from '../../organisations/users/callers.js';
import type { DeclineAdvice } from '../../payments/decline-advice.js';
import { type Html, html, type Part } from '../../values/html.js';
import type { Mode } from '../../values/mode.js';
import { decimalsOf } from '../../values/money.js';
import type { Checkout, CheckoutMethod } from '../checkout.js';
import { asksForName, type Field, type Posted } from './form.js';
import type { Quote, Quotes } from './quotes.js';
import type { Texts } from './texts.js';
import type { Offer } from './wallets.js';

/** The addresses of style sheet and script, which change with their contents. */
export interface Assets {
  readonly style: string;
  readonly script: string;
}

export interface Shown {
  readonly texts: Texts;
  readonly assets: Assets;
  readonly look?: Look | undefined;
}

/** How the page looks, where its merchant has said so: addresses of our listener. */
export interface Look {
  readonly colours: string | undefined;
  readonly logo: string | undefined;
}

/** Why the form is shown again. */
export type Notice = 'wrong' | 'changed' | DeclineAdvice | 'declinedAccount' | 'failed' | 'limited';

export interface FormShown extends Shown {
  readonly checkout: Checkout;
  readonly merchant: Merchant;
  readonly quotes: Quotes;
  readonly offers: readonly Offer[];
  readonly notice?: Notice | undefined;
  readonly posted?: Posted | undefined;
}

interface Frame extends Shown {
  readonly title: string;
  readonly mode?: Mode | undefined;
  readonly status: string;
  readonly frameOrigins?: readonly string[] | undefined;
  /** In seconds, for browsers without script. */
  readonly refresh?: number;
}

function page(
  { texts, assets, look, title, mode, status, refresh, frameOrigins = [] }: Frame,
  main: Part,
): string {
  return html`<!doctype html>
<html lang="${texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="stylesheet" href="${assets.style}">
${look?.colours === undefined ? '' : html`<link rel="stylesheet" href="${look.colours}">\n`}<link rel="icon" href="data:,">
${refresh === undefined ? '' : html`<noscript><meta http-equiv="refresh" content="${refresh}"></noscript>\n`}<script src="${assets.script}" defer></script>
</head>
<body data-status="${status}"${frameOrigins.length === 0 ? '' : html` data-frames="${frameOrigins.join(' ')}"`}>
<main>
${look?.logo === undefined ? '' : html`<img class="logo" src="${look.logo}" alt="">\n`}${mode === 'test' ? html`<p class="test">${texts.test}</p>\n` : ''}${main}
</main>
</body>
</html>
`.text;
}

/** By currency and language: to make one takes longer than the rest of a page. */
const AMOUNTS = new Map<string, Intl.NumberFormat>();

export function money(amountCents: number, currency: string, { language }: Texts): string {
  const digits = decimalsOf(currency);
  const key = `${currency} ${language}`;
  let format = AMOUNTS.get(key);
  if (format === undefined) {
    format = new Intl.NumberFormat(`${language}-AU`, {
      style: 'currency',
      currency,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
    AMOUNTS.set(key, format);
  }
  // The text of the cents, and not a number that binary fractions would round.
  return format.format(`${BigInt(amountCents)}E-${digits}` as unknown as number);
}

export function formPage(shown: FormShown): string {
  const { texts, checkout, merchant, posted } = shown;
  const { terms, attempts, attemptsAllowed, expiresMs, id } = checkout;
  const { paymentMethods, amountCents, currency = '', cancelUrl } = terms;
  const isTokenise = terms.operation === 'tokenise';
  const title = (isTokenise ? texts.titleOfTokenise : texts.title)(merchant.name);
  const left = attemptsAllowed - attempts.length;
  const chosen = posted?.method ?? paymentMethods[0];
  const name = isTokenise
    ? texts.save
    : (terms.operation === 'purchase' ? texts.pay : texts.hold)(uniform(shown) ?? '').trim();
  return page(
    { ...shown, title, mode: merchant.mode, status: checkout.status, frameOrigins: terms.frameOrigins },
    html`<h1>${title}</h1>
${noticeOf(shown, left)}
<dl class="summary">
${terms.description === undefined ? '' : html`<div class="description"><dt class="unseen">${texts.description}</dt><dd><bdi>${terms.description}</bdi></dd></div>\n`}<div><dt>${texts.reference}</dt><dd><bdi>${terms.reference}</bdi></dd></div>
${amountCents === undefined ? '' : html`<div class="amount"><dt>${texts.amount}</dt><dd>${money(amountCents, currency, texts)}</dd></div>\n`}</dl>
${surcharges(shown)}
${wallets(shown)}<form method="post" action="/${id}" novalidate data-wait="${texts.wait}">
${saidByForm(shown)}
${paymentMethods.length > 1 ? methodChoice(shown, chosen) : ''}
${paymentMethods.includes('creditcard') ? cardFields(shown) : ''}
${paymentMethods.includes('bankaccount') ? accountFields(shown) : ''}
<button type="submit">${name}</button>
</form>
<footer>
${cancelUrl === undefined ? '' : html`<p><a class="back" href="${withCheckout(cancelUrl, id)}">${texts.back(merchant.name)}</a></p>\n`}<p>${texts.safe}</p>
<p>${texts.until(timeText(expiresMs, texts))}</p>
</footer>`,
  );
}

/** For the script, which shows those that the browser can pay with. */
function wallets({ texts, checkout, offers, ...shown }: FormShown): Part {
  if (offers.length === 0) return '';
  const { id, terms } = checkout;
  const name = terms.operation === 'purchase' ? texts.payWith : texts.holdWith;
  const buttons = offers.map(
    ({ type, totalCents, request }) =>
      html`<button type="button" value="${type}" data-request="${JSON.stringify(request)}" hidden>${name(money(totalCents, terms.currency ?? '', texts), texts[type])}</button>\n`,
  );
  return html`<form method="post" action="/${id}" class="wallets" data-wait="${texts.wait}" data-failed="${texts.walletFailed}" hidden>
${saidByForm({ checkout, ...shown })}
${buttons}<p role="alert"></p>
<p>${texts.otherwise}</p>
</form>
`;
}

/** For which attempt the page is, and what it says that would be paid. */
function saidByForm({ checkout, quotes }: Pick<FormShown, 'checkout' | 'quotes'>): Html {
  return html`<input type="hidden" name="n" value="${checkout.attempts.length + 1}">
<input type="hidden" name="quotes" value="${quotes.digest}">`;
}

function noticeOf({ texts, notice, posted, checkout }: FormShown, left: number): Part {
  if (notice === undefined) return '';
  const problems = Object.entries(posted?.problems ?? {}) as [Field, keyof Texts['problems']][];
  const items = problems.map(
    ([field, problem]) => html`<li><a href="#${field}">${texts.problems[problem]}</a></li>`,
  );
  const tries =
    notice !== 'wrong' && notice !== 'changed' && left < checkout.attemptsAllowed
      ? ` ${texts.left(left)}`
      : '';
  return html`<div class="notice" role="alert" tabindex="-1" id="notice"><p>${texts[notice]}${tries}</p>${items.length > 0 ? html`<ul>${items}</ul>` : ''}</div>`;
}

/** The total where it is the same however one pays. */
function uniform({ quotes, checkout, texts }: FormShown): string | undefined {
  const totals = new Set(quotes.all.map(({ totalCents }) => totalCents));
  const [total] = totals;
  return totals.size === 1 && total !== undefined
    ? money(total, checkout.terms.currency ?? '', texts)
    : undefined;
}

/** Before the payer agrees: what is added, and for what. */
function surcharges(shown: FormShown): Part {
  const { quotes, texts, checkout } = shown;
  const { amountCents = 0, currency = '' } = checkout.terms;
  const added = ({ totalCents }: Quote) => totalCents - amountCents;
  if (quotes.all.every((quote) => added(quote) === 0)) return '';
  const total = uniform(shown);
  const [first] = quotes.all;
  if (total !== undefined && first !== undefined)
    return html`<p class="surcharge">${texts.surchargeAdded(money(added(first), currency, texts))}: <strong>${texts.total} ${total}</strong></p>`;
  const rows = grouped(quotes.all).map(
    ({ names, quote }) =>
      html`<tr data-types="${quote.types.join(' ')}"><th scope="row">${names.join(', ')}</th><td>${money(quote.totalCents, currency, texts)}</td><td>${quote.totalCents === amountCents ? texts.nothingAdded : `+ ${money(quote.totalCents - amountCents, currency, texts)}`}</td></tr>`,
  );
  return html`<table class="surcharge"><caption>${texts.surchargeByCard}</caption><tbody>${rows}</tbody></table>`;

  function grouped(all: readonly Quote[]) {
    const byTotal = new Map<number, { names: string[]; quote: { totalCents: number; types: string[] } }>();
    for (const { method, cardType, totalCents } of all) {
      const group = byTotal.get(totalCents) ?? { names: [], quote: { totalCents, types: [] } };
      group.names.push(method === 'bankaccount' ? texts.bankaccount : SCHEMES[cardType]);
      group.quote.types.push(method === 'bankaccount' ? 'bankaccount' : cardType || 'other');
      byTotal.set(totalCents, group);
    }
    return [...byTotal.values()];
  }
}

const SCHEMES: Readonly<Record<Quote['cardType'], string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  amex: 'American Express',
  diners: 'Diners Club',
  discover: 'Discover',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  eftpos: 'eftpos',
  '': 'Other cards',
};

function methodChoice({ texts, posted }: FormShown, chosen: CheckoutMethod | undefined): Html {
  const choice = (method: CheckoutMethod, label: string) =>
    html`<label class="choice"><input type="radio" name="method" value="${method}"${chosen === method ? html` checked` : ''}> ${label}</label>`;
  return html`<fieldset id="method"><legend>${texts.method}</legend>
${choice('creditcard', texts.creditcard)}
${choice('bankaccount', texts.bankaccount)}
${posted?.problems.method === undefined ? '' : html`<p class="problem">${texts.problems.method}</p>`}</fieldset>`;
}

interface FieldShown {
  readonly name: Field;
  readonly label: string;
  readonly hint?: string;
  readonly attributes: Html;
  readonly value?: string | undefined;
}

function field({ texts, posted }: FormShown, { name, label, hint, attributes, value }: FieldShown): Html {
  const problem = posted?.problems[name];
  const described = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(problem === undefined ? [] : [`${name}-problem`]),
  ];
  return html`<div class="field">
<label for="${name}">${label}</label>
${hint === undefined ? '' : html`<span class="hint" id="${name}-hint">${hint}</span>\n`}<input id="${name}" name="${name}" required ${attributes}${value === undefined ? '' : html` value="${value}"`}${described.length > 0 ? html` aria-describedby="${described.join(' ')}"` : ''}${problem === undefined ? '' : html` aria-invalid="true"`}>
${problem === undefined ? '' : html`<p class="problem" id="${name}-problem">${texts.problems[problem]}</p>\n`}</div>`;
}

function cardFields(shown: FormShown): Html {
  const { texts, checkout, merchant, posted } = shown;
  const { terms } = checkout;
  const mayKeep = terms.customerId !== undefined && merchant.vault;
  const name = field(shown, {
    name: 'name',
    label: texts.name,
    attributes: html`type="text" autocomplete="cc-name" maxlength="60"`,
    value: posted?.shown.name,
  });
  return html`<fieldset class="creditcard"><legend class="unseen">${texts.creditcard}</legend>
${field(shown, { name: 'number', label: texts.number, attributes: html`type="text" inputmode="numeric" autocomplete="cc-number" maxlength="23" spellcheck="false"` })}
<div class="pair">
${field(shown, { name: 'expiry', label: texts.expiry, hint: texts.expiryHint, attributes: html`type="text" inputmode="numeric" autocomplete="cc-exp" maxlength="9" placeholder="MM/YY"` })}
${field(shown, { name: 'cvv', label: texts.cvv, hint: texts.cvvHint, attributes: html`type="text" inputmode="numeric" autocomplete="cc-csc" maxlength="4" spellcheck="false"` })}
</div>
${asksForName(terms) ? name : mayKeep ? html`<label class="choice"><input type="checkbox" name="keep" value="yes" id="keep"${posted?.problems.name === undefined ? '' : html` checked`}> ${texts.keep(merchant.name)}</label>\n<div class="kept">${name}</div>` : ''}
</fieldset>`;
}

function accountFields(shown: FormShown): Html {
  const { texts, checkout, merchant, posted, quotes } = shown;
  const { currency = '' } = checkout.terms;
  const total = quotes.all.find(({ method }) => method === 'bankaccount')?.totalCents;
  const agreement =
    total === undefined
      ? texts.agreementToKeep(merchant.name)
      : texts.agreement(merchant.name, money(total, currency, texts));
  const problem = posted?.problems.agree;
  return html`<fieldset class="bankaccount"><legend class="unseen">${texts.bankaccount}</legend>
${field(shown, { name: 'bsb', label: texts.bsb, hint: texts.bsbHint, attributes: html`type="text" inputmode="numeric" autocomplete="off" maxlength="9"`, value: posted?.shown.bsb })}
${field(shown, { name: 'account_number', label: texts.accountNumber, attributes: html`type="text" inputmode="numeric" autocomplete="off" maxlength="20" spellcheck="false"` })}
${field(shown, { name: 'account_name', label: texts.accountName, attributes: html`type="text" autocomplete="name" maxlength="32"`, value: posted?.shown.account_name })}
<section class="agreement" aria-label="${texts.agreementTitle}"><h2>${texts.agreementTitle}</h2><p>${agreement}</p></section>
<label class="choice"><input type="checkbox" name="agree" value="yes" id="agree"${problem === undefined ? '' : html` aria-invalid="true" aria-describedby="agree-problem"`}> ${texts.agree}</label>
${problem === undefined ? '' : html`<p class="problem" id="agree-problem">${texts.problems[problem]}</p>`}</fieldset>`;
}

/** While an attempt is under way or in doubt. */
export function processingPage(
  shown: Shown & { readonly checkout: Checkout; readonly merchant: Merchant },
): string {
  const { texts, checkout, merchant } = shown;
  return page(
    {
      ...shown,
      title: texts.processingTitle,
      mode: merchant.mode,
      status: 'processing',
      refresh: 3,
      frameOrigins: checkout.terms.frameOrigins,
    },
    html`<h1>${texts.processingTitle}</h1>
<p role="status"><span class="spinner" aria-hidden="true"></span>${texts.processing}</p>`,
  );
}

export type Ending = 'complete' | 'expired' | 'usedUp' | 'cancelled' | 'moved' | 'unknown' | 'away';

/** The last page. `checkout` is absent where there is none, or where it cannot be read. */
export function endPage(
  ending: Ending,
  shown: Shown & {
    readonly checkout?: Checkout;
    readonly merchant?: Merchant;
    readonly paidCents?: number | undefined;
    /** Where the page is now, if it has moved and that is known. */
    readonly onwards?: string | undefined;
  },
): string {
  const { texts, checkout, merchant, paidCents, onwards } = shown;
  const { operation, currency = '', returnUrl, cancelUrl } = checkout?.terms ?? {};
  const title =
    ending === 'complete'
      ? { purchase: texts.completeTitle, preauthorisation: texts.completeHeld, tokenise: texts.completeKept }[
          operation ?? 'purchase'
        ]
      : texts[`${ending}Title`];
  const name = merchant?.name ?? '';
  const said =
    ending !== 'complete'
      ? texts[ending]
      : paidCents === undefined
        ? ''
        : texts.complete(money(paidCents, currency, texts), name);
  const audit = checkout?.resultAudit ?? undefined;
  const way = ending === 'complete' ? returnUrl : (cancelUrl ?? returnUrl);
  return page(
    { ...shown, title, mode: merchant?.mode, status: ending, frameOrigins: checkout?.terms.frameOrigins },
    html`<h1>${title}</h1>
<p role="status">${said}</p>
${ending !== 'moved' ? '' : onwards === undefined ? html`<p>${texts.movedNowhere}</p>\n` : html`<p><a href="${onwards}">${texts.movedOn}</a></p>\n`}${audit === undefined ? '' : html`<p>${texts.number_(audit)}</p>\n`}${way === undefined || checkout === undefined ? '' : html`<p><a class="back" href="${withCheckout(way, checkout.id)}">${texts.back(name)}</a></p>`}`,
  );
}

/** The shop asks the interface which one it is, and what has come of it. */
export function withCheckout(address: string, id: string): string {
  const url = new URL(address);
  url.searchParams.set('checkout', id);
  return url.href;
}

const TIMES = new Map<string, Intl.DateTimeFormat>();

function timeText(instantMs: number, { language }: Texts): string {
  let format = TIMES.get(language);
  if (format === undefined) {
    const style = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Australia/Sydney' } as const;
    format = new Intl.DateTimeFormat(`${language}-AU`, style);
    TIMES.set(language, format);
  }
  return `${format.format(instantMs)} (Sydney)`;
}

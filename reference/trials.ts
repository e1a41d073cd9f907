// Tries out operations on the gateway that this page came from, for test merchants only: every request says so, and the gateway keeps
// to it. Credentials are kept nowhere but in their fields.
import { addCopyButton } from './copying.js';
import { element, found } from './elements.js';

/** With it a gateway knows no live merchant. */
const TEST_ONLY = { 'X-Test-Only': 'true' };
/** Of the interface, as the page names it. */
const base = () => document.documentElement.dataset.base ?? '';

interface Field extends HTMLElement {
  name: string;
  value: string;
}

export function addTrials(): void {
  const credentials = found<HTMLElement>('#credentials');
  credentials.hidden = false;
  for (const trial of document.querySelectorAll<HTMLElement>('.try')) {
    trial.hidden = false;
    const form = found<HTMLFormElement>('form', trial);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
  }
}

async function send(form: HTMLFormElement): Promise<void> {
  const answer = found<HTMLElement>('.answer', form);
  const button = found<HTMLButtonElement>('button', form);
  const secret = found<HTMLInputElement>('#secret');
  if (secret.value === '') {
    secret.focus();
    secret.scrollIntoView({ block: 'center' });
    return;
  }
  button.disabled = true;
  try {
    answer.replaceChildren(...(await answered(form)));
  } catch (error) {
    answer.replaceChildren(element('p', {}, error instanceof Failure ? error.message : NO_ANSWER));
  } finally {
    button.disabled = false;
  }
}

const NO_ANSWER = 'No answer came. If this was a payment, search for it by its correlation ID.';

/** Something that is wrong with what was typed. */
class Failure extends Error {}

async function answered(form: HTMLFormElement): Promise<HTMLElement[]> {
  const { method = 'GET', path = '' } = form.dataset;
  const fields = [...form.querySelectorAll<Field>('[data-in]')];
  const given = (place: string) =>
    fields.filter(({ dataset, value }) => dataset.in === place && value.trim() !== '');
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = given('path')
      .find((field) => field.name === name)
      ?.value.trim();
    if (value === undefined) throw new Failure(`${name} is needed.`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams(given('query').map(({ name, value }) => [name, value.trim()]));
  const correlationId = given('header')[0]?.value.trim() ?? newId();
  const body = given('body')[0]?.value;
  const response = await fetch(`${base()}${address}${query.size > 0 ? `?${query}` : ''}`, {
    method,
    // Nothing that the browser knows by itself, and no question for a password.
    credentials: 'omit',
    redirect: 'error',
    headers: {
      ...TEST_ONLY,
      Authorization: `Basic ${basic()}`,
      'X-Correlation-Id': correlationId,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const status = element('b', { class: `status ${response.ok ? 'ok' : 'refused'}` }, String(response.status));
  const figure = element(
    'figure',
    {},
    element('figcaption', {}, `Answer ${response.status}`),
    element('pre', { tabindex: '0' }, element('code', {}, laidOut(text))),
  );
  addCopyButton(figure);
  return [element('p', {}, status, ` X-Correlation-Id ${correlationId}`), ...(text === '' ? [] : [figure])];
}

function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Also where there is no TLS, and so no `randomUUID`. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `docs-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function basic(): string {
  const [name, secret] = [
    found<HTMLInputElement>('#username').value,
    found<HTMLInputElement>('#secret').value,
  ];
  return btoa(String.fromCharCode(...new TextEncoder().encode(`${name}:${secret}`)));
}

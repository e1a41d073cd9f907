// Sample requests as a reader would send them: with curl and with the clients.

import { type Html, html } from '../values/html.js';
import { literal, PYTHON, TYPESCRIPT } from './client-samples.js';
import type { Entry } from './entries.js';
import { codeBlock } from './html.js';

interface Sample {
  readonly language: string;
  readonly title: string;
  readonly text: string;
}

export function requestSamples(entry: Entry): Html {
  const { operationId, requestBody } = entry.operation;
  const example = requestBody?.content['application/json']?.example;
  const samples: readonly Sample[] = [
    { language: 'curl', title: 'curl', text: curl(entry) },
    { language: 'typescript', title: 'TypeScript', text: TYPESCRIPT[operationId]?.(literal(example)) },
    { language: 'python', title: 'Python', text: PYTHON[operationId] },
  ].filter((sample): sample is Sample => sample.text !== undefined);
  return html`<div class="samples">${samples.map(
    ({ language, title, text }) => html`<div data-sample="${language}">${codeBlock(title, text)}</div>`,
  )}</div>`;
}

/** Values that nobody can guess become shell variables named after their parameter. */
function curl({ method, path, operation: { parameters, requestBody } }: Entry): string {
  const needed = (place: string) => parameters.filter((each) => each.in === place && each.required);
  const variable = (name: string) => `$${name.toUpperCase()}`;
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => variable(name));
  const query = needed('query').map(({ name }) => `${name}=${variable(name)}`);
  const json = requestBody?.content['application/json'];
  // With -G curl builds and escapes the query from its data. If there is a body, the body is the data.
  const asData = json === undefined && query.length > 0;
  const search = asData || query.length === 0 ? '' : `?${query.join('&')}`;
  const verb = method === (json === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `;
  return [
    `curl ${verb}${asData ? '-G ' : ''}"$BASE_URL${address}${search}"`,
    '-u "demo:$PASSWORD"',
    ...needed('header').map(({ name }) => `-H "${name}: $(uuidgen)"`),
    ...(asData ? query.map((pair) => `--data-urlencode "${pair}"`) : []),
    ...(json === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${shellText(json.example)}`]),
  ].join(' \\\n  ');
}

function shellText(example: unknown): string {
  if (example === undefined) return '@body.json';
  const json = JSON.stringify(example, null, 2).replaceAll('\n', '\n  ');
  return `'${json.replaceAll("'", "'\\''")}'`;
}

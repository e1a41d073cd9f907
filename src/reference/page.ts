// The reference page at /docs: one document without scripts that asks no other host for anything.
import { STATUS_CODES } from 'node:http';
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter, OpenApiResponse } from '../api/openapi.js';
import { PROBLEMS } from '../api/problems.js';
import {
  bodyTable,
  breakable,
  type Field,
  fieldsOf,
  fieldTable,
  type Objects,
  type Schema,
  sharedObject,
  typeOf,
} from './fields.js';
import { codeBlock, Html, html, joined, prose, table } from './html.js';
import { PageSchemas } from './objects.js';
import { REFERENCE_PAGE_STYLE } from './style.js';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export function referencePage(document: OpenApiDocument): string {
  const base = document.servers[0]?.url ?? '';
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const tags = [...new Set(entries.map(tagOf))];
  const schemas = new PageSchemas(document);
  const { objects } = schemas;
  const { title, version, description } = document.info;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}: API reference</title>
<style>${new Html(REFERENCE_PAGE_STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><a href="#introduction">${title}</a><a href="#contents">Contents</a></header>
<nav id="contents" aria-label="Contents">
<p class="brand"><a href="#introduction">${title}</a> <small>${version}</small><a id="closed" href="#closed">Close</a></p>
${menu('Introduction', INTRODUCTION_MENU)}
${tags.map((tag) => menu(tag, entries.filter((entry) => tagOf(entry) === tag).map(menuItem)))}
${menu(
  'Objects',
  objects.map(({ name }) => html`<a href="#object-${name}">${name}</a>`),
)}
</nav>
<main id="main">
<header id="introduction">
<h1>${title} <small>API reference</small></h1>
<p class="lead">${prose(description)}</p>
</header>
${introduction(base, entries)}
${tags.map(
  (tag) => html`<section class="group"><h2>${tag}</h2>
${document.tags.filter(({ name }) => name === tag).map((known) => html`<p>${prose(known.description)}</p>`)}
${entries.filter((entry) => tagOf(entry) === tag).map((entry) => operationSection(entry, { base, schemas, headers: document.components.headers }))}</section>`,
)}
<section class="group"><h2 id="objects">Objects</h2>${objects.map((object) => objectSection(object, objects))}</section>
</main>
</body>
</html>
`.text;
}

function tagOf({ operation }: Entry): string {
  return operation.tags[0] ?? 'Other';
}

function menu(title: string, items: readonly Html[]): Html {
  return html`<p class="title">${title}</p><ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`;
}

function menuItem({ method, operation }: Entry): Html {
  return html`<a href="#op-${operation.operationId}">${badge(method)}<span>${operation.summary}</span></a>`;
}

function heading(title: string, anchor: string): Html {
  return html`<h3>${title} <a class="anchor" href="#${anchor}" aria-label="Link to ${title}">#</a></h3>`;
}

function badge(method: string): Html {
  return html`<b class="method ${method.toLowerCase()}">${method}</b>`;
}

const INTRODUCTION_MENU = [
  html`<a href="#requests">Your first request</a>`,
  html`<a href="#correlation-ids">Correlation IDs</a>`,
  html`<a href="#outcomes">Reading the outcome</a>`,
  html`<a href="#recovery">After a timeout or 5XX</a>`,
  html`<a href="#changes">Being ready for change</a>`,
  html`<a href="#errors">Errors</a>`,
];

function introduction(base: string, entries: readonly Entry[]): Html {
  const link = (method: string, path: string) => {
    const known = entries.find((entry) => entry.method === method && entry.path === path);
    const text = html`<code>${method} ${path}</code>`;
    return known === undefined ? text : html`<a href="#op-${known.operation.operationId}">${text}</a>`;
  };
  return html`<div class="introduction">
<section id="requests"><h2>Your first request</h2>
<p>Every address begins with <code>${base}</code>. Bodies are JSON. Send your user name and secret with HTTP Basic
authentication, from your backend server only: whoever has the secret can move money. The examples on this page use
these variables; other names in capitals stand for values of your own.</p>
${codeBlock('Shell', SETTINGS.replace('{base}', base))}
<p>The same description for machines: <a href="${base}/openapi.json">openapi.json</a> (OpenAPI 3.1).</p></section>

<section id="correlation-ids"><h2>Correlation IDs</h2>
<p>Send a new <code>X-Correlation-Id</code> with each request; a UUID is a good choice. The response carries it back.
Lookups may leave it out.</p>
<p>Where a transaction is created it also makes the request idempotent: the first request wins the ID for its merchant,
and any later one with the same ID is refused with <code>409</code> and a link to the transaction that holds it.
Nothing is charged twice. A request refused with any other <code>4XX</code> has not used up its ID.</p>
<p>Operations on customers and tokens are not made idempotent by it: after a lost answer, see what became of them with
${link('GET', '/customers')} or ${link('GET', '/customers/{customer_id}/tokens')}, or by looking the customer or token
up.</p>
<p>Keep the ID before you send, and the <code>audit</code> when the response comes. The gateway usually forgets an ID
after 24 hours; the audit is the lasting reference.</p></section>

<section id="outcomes"><h2>Reading the outcome</h2>
<p class="warning"><strong>2XX never means approval.</strong> It means that an answer came back. Read
<code>status.transaction_status_code</code>, and ship the goods only on <code>approved</code>.</p>
${table(
  ['Status', 'Meaning'],
  OUTCOMES.map(([status, meaning]) => [html`<code>${status}</code>`, prose(meaning)]),
)}
<p><code>4XX</code>: the request was refused and moved no money. <code>5XX</code>: the outcome is open; see
<a href="#recovery">After a timeout or 5XX</a>.</p></section>

<section id="recovery"><h2>After a timeout or 5XX</h2>
<p>The money may have moved. Do not send the payment again before you have looked:</p>
<ol>
<li>Search by correlation ID, ${link('GET', '/transactions')}; or, if you have the audit, look that up,
${link('GET', '/transactions/{audit}')}.</li>
<li>Found: its status is the outcome. While that is <code>unknown</code> it is being resolved; look again a little
later.</li>
<li>An empty <code>results</code> within those 24 hours, or <code>404</code>: it was not processed. Only now retry, with a
<em>new</em> correlation ID.</li>
</ol></section>

<section id="changes"><h2>Being ready for change</h2>
<p>Within <code>${base}</code>, enumerated fields may get new values: treat one you do not know as <code>unknown</code>, and
a strange <code>gateway_status_code</code> as <code>-99</code>. Texts in <code>_message</code> fields may change at any
time; decide by the <code>_code</code> beside them.</p></section>

<section id="errors"><h2>Errors</h2>
<p>A refusal lists all problems of the request, each with a code, a message and its <code>location</code>, such as
<code>["body","transaction","reference"]</code>.</p>
<details><summary>All error codes</summary>
${table(['Code', 'Meaning'], EVERY_ERROR, 'fields')}
</details></section>
</div>`;
}

const EVERY_ERROR = Object.entries(PROBLEMS).map(([code, { status, message }]) => [
  html`<code class="field" id="error-${code}">${code}</code> ${statusBadge(`${status}`)}`,
  message,
]);

const SETTINGS = `# where the gateway listens
BASE_URL=http://127.0.0.1:8080{base}
# the secret of the user "demo"
PASSWORD=…`;

const OUTCOMES: readonly [string, string][] = [
  ['approved', 'Done: charged, held or paid back.'],
  ['declined', 'Refused. The reason is in `status.acquirer`.'],
  ['pending', 'A direct debit that waits for the bank, usually for some working days.'],
  ['error', 'It failed. See `status.gateway_status_code` and `status.acquirer.response_code`.'],
  ['voided', 'Undone by a void. `reversed` means the same.'],
  ['unknown', 'Not known yet. Look the transaction up until it is.'],
];

/** What the sections of the operations have in common. */
interface Surroundings {
  readonly base: string;
  readonly schemas: PageSchemas;
  readonly headers: OpenApiDocument['components']['headers'];
}

function operationSection({ method, path, operation }: Entry, around: Surroundings): Html {
  const { base, schemas } = around;
  const { objects } = schemas;
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const anchor = `op-${operationId}`;
  const schema = requestBody?.content['application/json']?.schema as Schema | undefined;
  const answers = Object.entries(responses);
  return html`<section class="operation" id="${anchor}">
<header>${heading(summary, anchor)}
<p class="route">${badge(method)} <code><span>${base}</span>${breakable(path)}</code></p>
<p>${prose(description)}</p></header>
<div class="example">${codeBlock('Example request', curl({ method, path, operation }))}</div>
<div class="rules">
${parameters.length === 0 ? '' : html`<h4>Parameters</h4>${fieldTable(parameters.map(fieldOfParameter), objects)}`}
${schema === undefined ? '' : html`<h4>Request body</h4>${bodyTable(schemas.whole(schema), objects)}`}
<h4>Response</h4>${answers.filter(([status]) => status < '400').map(([status, response]) => success(status, response, around))}
${errorsOf(answers.filter(([status]) => status >= '400'))}
</div></section>`;
}

function fieldOfParameter({ name, in: place, required, description, schema }: OpenApiParameter): Field {
  const words = [description, (schema as Schema).description].filter((text) => text !== undefined).join(' ');
  return { prefix: `${place} `, name, required, schema: { ...(schema as Schema), description: words } };
}

function success(
  status: string,
  { description, headers = {}, content }: OpenApiResponse,
  { schemas, headers: known }: Surroundings,
): Html {
  const schema = content?.['application/json']?.schema as Schema | undefined;
  const sent = Object.keys(headers).map(
    (name) => html`<li><code>${name}</code> ${prose(known[name]?.description)}</li>`,
  );
  return html`<p>${statusBadge(status)} ${STATUS_CODES[status] ?? ''}. ${prose(description)}</p>
${schema === undefined ? '' : responseBody(schemas.whole(schema), schemas.objects)}
${sent.length === 0 ? '' : html`<details><summary>Response headers</summary><ul>${sent}</ul></details>`}`;
}

function responseBody(schema: Schema, objects: Objects): Html {
  const shared = sharedObject(schema, objects);
  if (shared === undefined)
    return html`<details><summary>Fields of the body</summary>${bodyTable(schema, objects)}</details>`;
  const names = Object.keys(shared.schema.properties ?? {}).map((name) => html`<code>${name}</code>`);
  return html`<p>Body: ${typeOf(schema, objects)} with ${joined(names, ', ')}.</p>`;
}

function errorsOf(answers: readonly [string, OpenApiResponse][]): Html {
  if (answers.length === 0) return html``;
  const rows = answers.map(([status, { description }]) => [
    html`${statusBadge(status)} <span class="type">${STATUS_CODES[status] ?? ''}</span>`,
    description.split('`').map((piece, index) => (index % 2 === 1 ? errorCode(piece) : piece)),
  ]);
  return html`<details><summary>Errors ${answers.map(([status]) => html` ${statusBadge(status)}`)}</summary>
${table(['Status', 'Codes'], rows, 'fields errors')}</details>`;
}

function statusBadge(status: string): Html {
  return html`<b class="status ${status < '400' ? 'ok' : 'refused'}">${status}</b>`;
}

function errorCode(code: string): Html {
  return Object.hasOwn(PROBLEMS, code)
    ? html`<a href="#error-${code}"><code>${code}</code></a>`
    : html`<code>${code}</code>`;
}

function objectSection({ name, schema }: Objects[number], objects: Objects): Html {
  return html`<section class="object" id="object-${name}">${heading(name, `object-${name}`)}
${schema.description === undefined ? '' : html`<p>${prose(schema.description)}</p>`}
${fieldTable(fieldsOf(schema, '', objects), objects)}</section>`;
}

/** Values that nobody can guess become shell variables named after their parameter. */
function curl({ method, path, operation: { parameters, requestBody } }: Entry): string {
  const needed = (place: string) => parameters.filter((each) => each.in === place && each.required);
  const variable = (name: string) => `$${name.toUpperCase()}`;
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => variable(name));
  const query = needed('query').map(({ name }) => `${name}=${variable(name)}`);
  const json = requestBody?.content['application/json'];
  // With -G curl makes the query from its data, and escapes it; where there is a body, that is the data.
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

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
import { codeBlock, filled, type Html, html, joined, type Part, prose, table } from './html.js';
import { PageSchemas } from './objects.js';
import { readTemplates } from './templates.js';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export function referencePage(document: OpenApiDocument): string {
  const templates = readTemplates();
  const base = document.servers[0]?.url ?? '';
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const tags = [...new Set(entries.map(tagOf))];
  const of = (tag: string) => entries.filter((entry) => tagOf(entry) === tag);
  const schemas = new PageSchemas(document);
  const { objects } = schemas;
  const { title, version, description } = document.info;
  const around = { base, schemas, headers: document.components.headers, template: templates.operation };
  const parts: Readonly<Record<string, Part>> = {
    title,
    version,
    description: prose(description),
    style: templates.style,
    introduction: introduction(templates.introduction, base, entries),
    'menus of operations': tags.map((tag) => menu(tag, of(tag).map(menuItem))),
    'menu of objects': menu(
      'Objects',
      objects.map(({ name }) => html`<a href="#object-${name}">${name}</a>`),
    ),
    operations: tags.map(
      (tag) => html`<section class="group"><h2>${tag}</h2>
${document.tags.filter(({ name }) => name === tag).map((known) => html`<p>${prose(known.description)}</p>`)}
${of(tag).map((entry) => operationSection(entry, around))}</section>`,
    ),
    objects: objects.map((object) => objectSection(object, objects)),
  };
  return `${filled(templates.page, (name) => parts[name]).text}\n`;
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

function introduction(template: Html, base: string, entries: readonly Entry[]): Html {
  const parts: Readonly<Record<string, Part>> = {
    base,
    'error codes': table(['Code', 'Meaning'], EVERY_ERROR, 'fields'),
  };
  return filled(template, (name) => parts[name] ?? operationNamed(name, entries));
}

/** `GET /customers`: a link to the operation, if there is one. */
function operationNamed(name: string, entries: readonly Entry[]): Html | undefined {
  if (!/^[A-Z]+ \//.test(name)) return undefined;
  const text = html`<code>${name}</code>`;
  const known = entries.find(({ method, path }) => name === `${method} ${path}`);
  return known === undefined ? text : html`<a href="#op-${known.operation.operationId}">${text}</a>`;
}

const EVERY_ERROR = Object.entries(PROBLEMS).map(([code, { status, message }]) => [
  html`<code class="field" id="error-${code}">${code}</code> ${statusBadge(`${status}`)}`,
  message,
]);

/** What the sections of the operations have in common. */
interface Surroundings {
  readonly base: string;
  readonly schemas: PageSchemas;
  readonly headers: OpenApiDocument['components']['headers'];
  readonly template: Html;
}

function operationSection({ method, path, operation }: Entry, around: Surroundings): Html {
  const { base, schemas, template } = around;
  const { objects } = schemas;
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const anchor = `op-${operationId}`;
  const schema = requestBody?.content['application/json']?.schema as Schema | undefined;
  const answers = Object.entries(responses);
  const parts: Readonly<Record<string, Part>> = {
    anchor,
    heading: heading(summary, anchor),
    method: badge(method),
    base,
    path: breakable(path),
    description: prose(description),
    example: codeBlock('Example request', curl({ method, path, operation })),
    parameters:
      parameters.length === 0
        ? ''
        : html`<h4>Parameters</h4>${fieldTable(parameters.map(fieldOfParameter), objects)}`,
    body: schema === undefined ? '' : html`<h4>Request body</h4>${bodyTable(schemas.whole(schema), objects)}`,
    successes: answers
      .filter(([status]) => status < '400')
      .map(([status, response]) => success(status, response, around)),
    errors: errorsOf(answers.filter(([status]) => status >= '400')),
  };
  return filled(template, (name) => parts[name]);
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

// The section of one operation: address, fields, sample requests and answers, and a form to try it.
import { STATUS_CODES } from 'node:http';
import type { OpenApiDocument, OpenApiParameter, OpenApiResponse } from '../api/openapi/openapi.js';
import { PROBLEMS } from '../api/problems.js';
import { type Html, html, joined, type Part } from '../values/html.js';
import type { Entry } from './entries.js';
import {
  bodyTable,
  breakable,
  type Field,
  fieldTable,
  type Objects,
  type Schema,
  sharedObject,
  typeOf,
} from './fields.js';
import { codeBlock, filled, prose, table } from './html.js';
import type { PageSchemas } from './objects.js';
import { requestSamples } from './samples.js';
import { tryForm } from './try-form.js';

/** What the sections of all operations share. */
export interface Surroundings {
  readonly base: string;
  readonly schemas: PageSchemas;
  readonly headers: OpenApiDocument['components']['headers'];
  readonly template: Html;
}

export function heading(title: string, anchor: string): Html {
  return html`<h3>${title} <a class="anchor" href="#${anchor}" aria-label="Link to ${title}">#</a></h3>`;
}

export function badge(method: string): Html {
  return html`<b class="method ${method.toLowerCase()}">${method}</b>`;
}

export function statusBadge(status: string): Html {
  return html`<b class="status ${status < '400' ? 'ok' : 'refused'}">${status}</b>`;
}

export function operationSection(entry: Entry, around: Surroundings): Html {
  const { method, path, operation } = entry;
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
    samples: requestSamples(entry),
    answers: answers.map(([status, response], index) => sampleAnswer(status, response, index === 0)),
    parameters:
      parameters.length === 0
        ? ''
        : html`<h4>Parameters</h4>${fieldTable(parameters.map(fieldOfParameter), objects)}`,
    body: schema === undefined ? '' : html`<h4>Request body</h4>${bodyTable(schemas.whole(schema), objects)}`,
    successes: answers
      .filter(([status]) => status < '400')
      .map(([status, response]) => success(status, response, around)),
    errors: errorsOf(answers.filter(([status]) => status >= '400')),
    form: tryForm(entry),
  };
  return filled(template, (name) => parts[name]);
}

function fieldOfParameter({ name, in: place, required, description, schema }: OpenApiParameter): Field {
  const words = [description, (schema as Schema).description].filter((text) => text !== undefined).join(' ');
  return { prefix: `${place} `, name, required, schema: { ...(schema as Schema), description: words } };
}

/** A sample answer with this status; nothing for an answer without a body. */
function sampleAnswer(status: string, { content }: OpenApiResponse, open: boolean): Html {
  const example = content?.['application/json']?.example;
  if (example === undefined) return html``;
  const summary = html`<summary>${statusBadge(status)} ${STATUS_CODES[status] ?? ''}</summary>`;
  const shown = codeBlock(`Answer ${status}`, JSON.stringify(example, null, 2));
  return open
    ? html`<details open>${summary}${shown}</details>`
    : html`<details>${summary}${shown}</details>`;
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

function errorCode(code: string): Html {
  return Object.hasOwn(PROBLEMS, code)
    ? html`<a href="#error-${code}"><code>${code}</code></a>`
    : html`<code>${code}</code>`;
}

// The reference page at /docs: one document that is complete without scripts, and loads nothing from other hosts.
import type { OpenApiDocument } from '../api/openapi/openapi.js';
import { PROBLEMS } from '../api/problems.js';
import { type Html, html, type Part } from '../values/html.js';
import { type Entry, entriesOf } from './entries.js';
import { fieldsOf, fieldTable, type Objects } from './fields.js';
import { errorAdvice, GUIDES, guideSection } from './guides.js';
import { filled, prose, table } from './html.js';
import { PageSchemas } from './objects.js';
import { badge, heading, operationSection, statusBadge } from './operation-section.js';
import { readTemplates } from './templates.js';

export function referencePage(document: OpenApiDocument): string {
  const templates = readTemplates();
  const base = document.servers[0]?.url ?? '';
  const entries = entriesOf(document);
  const tags = [...new Set(entries.map(tagOf))];
  const of = (tag: string) => entries.filter((entry) => tagOf(entry) === tag);
  const schemas = new PageSchemas(document);
  const { objects } = schemas;
  const { title, version, description } = document.info;
  const around = { base, schemas, headers: document.components.headers, template: templates.operation };
  const parts: Readonly<Record<string, Part>> = {
    base,
    title,
    version,
    description: prose(description),
    introduction: introduction(templates.introduction, base, entries),
    'menu of guides': menu(
      'Guides',
      GUIDES.map(({ id, title: name }) => html`<a href="#${id}">${name}</a>`),
    ),
    guides: GUIDES.map(guideSection),
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

function introduction(template: Html, base: string, entries: readonly Entry[]): Html {
  const parts: Readonly<Record<string, Part>> = {
    base,
    'error codes': table(['Code', 'Meaning', 'What to do'], everyError(), 'fields advice'),
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

function everyError(): Part[][] {
  const advice = errorAdvice();
  return Object.entries(PROBLEMS).map(([code, { status, message }]) => {
    const { meaning = '', whatToDo = '' } = advice.get(code) ?? {};
    return [
      html`<code class="field" id="error-${code}">${code}</code> ${statusBadge(`${status}`)}`,
      html`${meaning} <q class="type">${message}</q>`,
      whatToDo,
    ];
  });
}

function objectSection({ name, schema }: Objects[number], objects: Objects): Html {
  return html`<section class="object" id="object-${name}">${heading(name, `object-${name}`)}
${schema.description === undefined ? '' : html`<p>${prose(schema.description)}</p>`}
${fieldTable(fieldsOf(schema, '', objects), objects)}</section>`;
}

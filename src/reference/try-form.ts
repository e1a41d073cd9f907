// The form to try an operation. Hidden until the page's script has loaded, which sends requests to test merchants only.
import type { OpenApiParameter } from '../api/openapi/openapi.js';
import { type Html, html, type Part } from '../values/html.js';
import type { Entry } from './entries.js';
import type { Schema } from './fields.js';

export function tryForm({ method, path, operation }: Entry): Html {
  const { operationId, summary, parameters, requestBody } = operation;
  const example = requestBody?.content['application/json']?.example;
  const id = `try-${operationId}`;
  return html`<details class="try" hidden><summary>Try it</summary>
<form data-method="${method}" data-path="${path}" aria-label="Try it: ${summary}">
${parameters.map((parameter) => parameterField(`${id}-${parameter.name}`, parameter))}
${requestBody === undefined ? '' : bodyField(`${id}-body`, example)}
<p><button type="submit">Send</button> <span class="hint">to a test merchant only</span></p>
<div class="answer" role="status"></div>
</form></details>`;
}

function parameterField(id: string, { name, in: place, required, schema }: OpenApiParameter): Html {
  const { examples = [], default: fallback } = schema as Schema;
  const hint = place === 'header' ? 'a new one, where this is empty' : String(examples[0] ?? fallback ?? '');
  const mark: Part = required && place !== 'header' ? html` <b>required</b>` : '';
  return html`<p><label for="${id}">${name}${mark}</label>
<input id="${id}" data-in="${place}" name="${name}" placeholder="${hint}" autocomplete="off" spellcheck="false"></p>
`;
}

function bodyField(id: string, example: unknown): Html {
  const text = example === undefined ? '{}' : JSON.stringify(example, null, 2);
  return html`<p><label for="${id}">Body</label>
<textarea id="${id}" data-in="body" rows="${text.split('\n').length}" spellcheck="false">${text}</textarea></p>
`;
}

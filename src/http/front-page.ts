// What stands at `/`: a page for people and a document for programs, which both lead to everything that needs no credentials.
import { BASE_PATH } from '../api/operations/hal.js';

const PLACES = [
  { name: 'reference', href: '/docs', title: 'The API reference' },
  { name: 'openapi', href: `${BASE_PATH}/openapi.json`, title: 'The OpenAPI document, for programs' },
  { name: 'live', href: '/livez', title: 'Whether this process lives' },
  { name: 'ready', href: '/readyz', title: 'Whether it can serve' },
] as const;

export const FRONT_DOCUMENT = JSON.stringify({
  name: 'Tollgate',
  description: 'A payment gateway and customer vault',
  _links: {
    self: { href: '/' },
    ...Object.fromEntries(PLACES.map(({ name, href, title }) => [name, { href, title }])),
  },
});

export const FRONT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tollgate</title>
<style>
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1.5rem; }
</style>
</head>
<body>
<main>
<h1>Tollgate</h1>
<p>A payment gateway and customer vault. Its interface is at <code>${BASE_PATH}</code>.</p>
<ul>
${PLACES.map(({ href, title }) => `<li><a href="${href}">${title}</a> <code>${href}</code></li>`).join('\n')}
</ul>
</main>
</body>
</html>
`;

/** Whether the page is wanted and not the document: browsers say so, and who says nothing is a program. */
export function wantsPage(accept: string | undefined): boolean {
  return qualityOf(accept, 'text/html') > qualityOf(accept, 'application/json');
}

/** How much a media type is wanted, from 0 to 1, by its own name only: whoever takes anything gets the document. */
function qualityOf(accept: string | undefined, type: string): number {
  for (const range of accept?.toLowerCase().split(',') ?? []) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    return quality === undefined ? 1 : Number(quality) || 0;
  }
  return 0;
}

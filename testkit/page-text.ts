// The text of a page of HTML.

/** What a reader sees. */
export function textOf(page: string): string {
  const body = page.slice(page.indexOf('<body>')).replaceAll(/<wbr>|<[^>]*>/g, '');
  return body
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

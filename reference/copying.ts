// Buttons that copy what a block of code holds.
import { element } from './elements.js';

const SAID_FOR_MS = 2_000;

export function addCopyButtons(): void {
  for (const figure of document.querySelectorAll('main figure')) addCopyButton(figure);
}

export function addCopyButton(figure: Element): void {
  const title = figure.querySelector('figcaption');
  const code = figure.querySelector('code');
  if (title === null || code === null) return;
  const button = element('button', { type: 'button', class: 'copy' }, 'Copy');
  button.setAttribute('aria-label', `Copy: ${title.textContent}`);
  const said = element('span', { role: 'status' });
  button.addEventListener('click', async () => {
    said.textContent = (await copied(code)) ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => {
      said.textContent = '';
    }, SAID_FOR_MS);
  });
  title.append(said, button);
}

/** Browsers give a page without TLS no way to the clipboard: there the text is selected, for the reader to copy. */
async function copied(code: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return false;
  }
}

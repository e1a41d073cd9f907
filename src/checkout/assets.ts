// The style sheet and the scripts of payers' pages, which the build puts into dist/payers. Read once: a running gateway keeps them while
// another build replaces the files.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Beside the compiled sources, wherever this runs from. */
const FOLDER = new URL('../../dist/payers/', import.meta.url);

export interface Asset {
  /** Of our listener. */
  readonly path: string;
  readonly type: string;
  readonly content: Buffer;
  /** As `integrity` attributes have it. */
  readonly integrity: string;
  /** Its address changes with its content. */
  readonly isLasting: boolean;
}

export interface PayersAssets {
  readonly style: Asset;
  readonly script: Asset;
  /** For shops that show the page in a frame. Whatever changes in it gets a new number, and the old one stays. */
  readonly embedding: Asset;
}

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const HASH_SHOWN = 12;

export async function readPayersAssets(): Promise<PayersAssets> {
  const [style, script, embedding] = await Promise.all(
    ['page.css', 'page.js', 'checkout-1.js'].map((name) => readFile(new URL(name, FOLDER))),
  );
  return {
    style: asset('page.css', CSS, style as Buffer, true),
    script: asset('page.js', SCRIPT, script as Buffer, true),
    embedding: asset('checkout-1.js', SCRIPT, embedding as Buffer, false),
  };
}

function asset(name: string, type: string, content: Buffer, isLasting: boolean): Asset {
  const [stem, ending] = name.split('.');
  const named = isLasting ? `${stem}-${hash('sha256', content, 'hex').slice(0, HASH_SHOWN)}.${ending}` : name;
  const integrity = `sha384-${hash('sha384', content, 'base64')}`;
  return { path: `/${named}`, type, content, integrity, isLasting };
}

// The documents about the interface, each in the forms in which a client may take it.
import type { FastifyReply } from 'fastify';

/** As bytes: to encode, let alone to compress, so long a text for every answer takes its time. */
export interface ServedDocument {
  readonly plain: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

export type DocumentName = 'openApi' | 'reference' | 'style' | 'script';
export type Documents = Readonly<Record<DocumentName, ServedDocument>>;

/** The smallest first. */
const COMPRESSED = ['br', 'gzip'] as const;

/** The form that the client takes, with the headers that say which it is. */
export function formFor(document: ServedDocument, accepted: string | undefined, reply: FastifyReply): Buffer {
  reply.header('vary', 'accept-encoding');
  const form = COMPRESSED.find((encoding) => takes(accepted, encoding));
  if (form === undefined) return document.plain;
  reply.header('content-encoding', form);
  return document[form];
}

/** Whether an encoding is named, and not to say that it is unwanted. */
function takes(accepted = '', encoding: string): boolean {
  return accepted
    .toLowerCase()
    .split(',')
    .map((each) => each.trim().split(/\s*;\s*/))
    .some(([name, quality = 'q=1']) => name === encoding && !/^q=0(\.0*)?$/.test(quality));
}

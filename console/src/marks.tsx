// Small marks that say a status or a mode in words and in colour.
import type { ReactNode } from 'react';
import { moment, shortMoment, spaced } from './words.js';

type Tone = 'good' | 'bad' | 'doubt' | 'plain';

const TONES: Readonly<Record<string, Tone>> = {
  approved: 'good',
  complete: 'good',
  enabled: 'good',
  delivered: 'good',
  cleared: 'good',
  active: 'good',
  yes: 'good',
  declined: 'bad',
  error: 'bad',
  failing: 'bad',
  disabled: 'bad',
  failed: 'bad',
  returned: 'bad',
  refused: 'bad',
  suspended: 'bad',
  revoked: 'bad',
  removed: 'bad',
  changed: 'bad',
  unknown: 'doubt',
  pending: 'doubt',
  processing: 'doubt',
  waiting: 'doubt',
  reversing: 'doubt',
  inquiring: 'doubt',
};

export function Mark({ word, tone }: { readonly word: string; readonly tone?: Tone }): ReactNode {
  return (
    <span className="mark" data-tone={tone ?? TONES[word] ?? 'plain'}>
      {spaced(word)}
    </span>
  );
}

/** Clients are told `unknown`; operators call it in doubt. */
export function StatusMark({ status }: { readonly status: string }): ReactNode {
  return <Mark word={status === 'unknown' ? 'in doubt' : status} tone={TONES[status] ?? 'plain'} />;
}

export function ModeMark({ mode, said }: { readonly mode: string; readonly said?: string }): ReactNode {
  return (
    <span className="mode-mark" data-mode={mode}>
      {mode.toUpperCase()}
      {said !== undefined && <small>{said}</small>}
    </span>
  );
}

/** A moment in Sydney, shorter where there is no room. */
export function When({ at }: { readonly at: string | null | undefined }): ReactNode {
  if (at === null || at === undefined || at === '') return '–';
  return (
    <>
      <span className="wide-only">{moment(at)}</span>
      <span className="narrow-only">{shortMoment(at)}</span>
    </>
  );
}

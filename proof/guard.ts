// What an entry in the list of guards says.

export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  /** Must stand in the file exactly once. */
  readonly find: string;
  /** The same without the guard. It must leave a gateway that still does its ordinary work. */
  readonly replace: string;
}

/** A test, by its file and a part of its name as it stands there: without what the parameters of a test fill in. */
export type NamedTest = readonly [file: string, name: string];

export interface Guard extends Edit {
  readonly name: string;
  /** Further edits that it takes to remove it. */
  readonly also?: readonly Edit[];
  /** At least one of them has to notice. */
  readonly tests: readonly NamedTest[];
  /** Is not picked for the short form. */
  readonly slow?: boolean;
  /** Its tests run processes, which are compiled. */
  readonly processes?: boolean;
}

export const editsOf = ({ file, find, replace, also = [] }: Guard): Edit[] => [
  { file, find, replace },
  ...also,
];

/** For a pattern. */
export const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

// The blocks of a page that a reader pastes into a shell.
import { read } from './project-files.js';

export interface ShellBlock {
  readonly page: string;
  readonly line: number;
  /** The commands to run, without the output of a session with `$ `. */
  readonly text: string;
  /** A requirement that not every machine meets, named in the block's first line: `# Needs Docker.` */
  readonly needs: string | undefined;
}

/** What a block begins with that shows commands, though it does not say its language. */
const COMMANDS = /^(?:\$ |# Needs |npx |npm |curl |docker |pip |tollgate [a-z]+ )/;

export function shellBlocks(page: string): ShellBlock[] {
  return blocksOf(read(page))
    .filter(({ language, lines: [first = ''] }) =>
      language === '' ? COMMANDS.test(first) : ['sh', 'console', 'bash'].includes(language),
    )
    .map(({ line, lines }) => {
      const [, needs] = /^# Needs (.*)\.$/.exec(lines[0] ?? '') ?? [];
      return { page, line, text: commandsOf(lines), needs };
    });
}

interface Block {
  readonly line: number;
  readonly language: string;
  readonly lines: readonly string[];
}

/** Fenced ones, and those that are indented by four spaces below an empty line. */
function blocksOf(text: string): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, language] = /^```(\w*)$/.exec(lines[at] ?? '') ?? [];
    const indented = lines[at]?.startsWith('    ') && lines[at - 1] === '';
    if (language === undefined && !indented) continue;
    const begin = language === undefined ? at : at + 1;
    const ends = (line: string) => (language === undefined ? !/^( {4}|$)/.test(line) : line === '```');
    const length = lines.slice(begin).findIndex(ends);
    const inside = lines
      .slice(begin, begin + length)
      .map((line) => (language === undefined ? line.slice(4) : line));
    blocks.push({ line: at + 1, language: language ?? '', lines: inside });
    at = begin + length;
  }
  return blocks;
}

/** Without prompts, and without what is printed. */
function commandsOf(lines: readonly string[]): string {
  if (!lines.some((line) => line.startsWith('$ '))) return lines.join('\n');
  return lines
    .filter((line, index) => line.startsWith('$ ') || lines[index - 1]?.endsWith('\\'))
    .map((line) => line.replace(/^\$ /, ''))
    .join('\n');
}

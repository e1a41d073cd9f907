// The guards of the journal: what finds entries that were changed, removed or inserted.
import type { Guard } from './guard.js';

const CHAIN = 'test/journal/chain.test.ts';
const VERIFICATION = 'test/journal/verification.test.ts';

export const JOURNAL_GUARDS: readonly Guard[] = [
  {
    name: 'journal: an entry that was changed is found by its tag',
    file: 'src/journal/verification.ts',
    find: "if (tag !== undefined && !tag.equals(digest)) return 'changed';",
    replace: "if (tag !== undefined && tag.equals(digest.subarray(1))) return 'changed';",
    tests: [[CHAIN, 'changes an entry']],
  },
  {
    name: 'journal: an entry that was removed is found',
    file: 'src/journal/verification.ts',
    find: 'const missing = [...tags.keys()];',
    replace: 'const missing: number[] = [...tags.keys()].slice(0, 0);',
    tests: [[CHAIN, 'removes entries']],
  },
  {
    name: 'journal: an entry with another’s mark is found',
    file: 'src/journal/verification.ts',
    find: 'if (mark !== null && !this.pen.isMarked(row, mark))',
    replace: 'if (mark !== null && mark.length === 0)',
    tests: [[CHAIN, 'inserts entries: with another’s mark']],
  },
  {
    name: 'journal: an id that was never handed out does not carry the chain away',
    file: 'src/journal/chain.sql.ts',
    find: "`j.id <= (SELECT coalesce(pg_sequence_last_value('journal_id_seq'), 0))`;",
    replace: '`j.id > 0`;',
    tests: [[CHAIN, 'or far ahead']],
  },
  {
    name: 'journal: entries that are committed late are taken up later',
    file: 'src/journal/chain.ts',
    find: '      await connection.query(ADD_GAP, [first, last]);\n',
    replace: '      if (first > last) await connection.query(ADD_GAP, [first, last]);\n',
    tests: [[CHAIN, 'are taken up by a later block']],
  },
  {
    name: 'journal: one process at a time makes a block',
    slow: true,
    file: 'src/journal/chain.ts',
    find: '    if (!locks[0]?.locked) return undefined;\n',
    replace: '    if (locks.length === 0) return undefined;\n',
    tests: [[CHAIN, 'several processes at once']],
  },
  {
    name: 'journal: a block counts as known once its commit is confirmed',
    file: 'src/journal/chain.ts',
    find: '    return { end: { number, hash, lineage: state.lineage }, foreign };',
    replace:
      '    this.#known = { number, hash, lineage: state.lineage };\n    return { end: this.#known, foreign };',
    tests: [[CHAIN, 'a commit that fails']],
  },
  {
    name: 'journal: all that an entry says is bound',
    file: 'src/journal/chain.sql.ts',
    find: "j.correlation_id, j.detail, j.address, encode(j.mark, 'hex'))",
    replace: "j.correlation_id, j.detail, NULL, encode(j.mark, 'hex'))",
    tests: [[CHAIN, 'changes an entry']],
  },
  {
    name: 'journal: the mark of an entry is for what it says',
    file: 'src/journal/pen.ts',
    find: 'correlationId, detail, address];',
    replace: 'correlationId];',
    also: [
      {
        file: 'src/journal/pen.ts',
        find: 'correlationId, detail, address } =',
        replace: 'correlationId } =',
      },
    ],
    tests: [[CHAIN, 'changes one that is not taken up yet']],
  },
  {
    name: 'journal: a copy of an entry is found',
    file: 'src/journal/verification.ts',
    find: "for (const { id } of copies) this.#found({ entry: id, problem: 'inserted: a copy of another entry' });",
    replace: 'copies.at(0);',
    tests: [[CHAIN, 'inserts entries: with another’s mark']],
  },
  {
    name: 'journal: an entry in no block is found',
    file: 'src/journal/verification.ts',
    find: "if (id > lastId || !isLate) return 'inserted: it is in no block';",
    replace: "if (id > lastId && !isLate) return 'inserted: it is in no block';",
    tests: [[CHAIN, 'inserts one under a number that is free']],
  },
  {
    name: 'journal: a block that was changed is found',
    file: 'src/journal/verification.ts',
    find: 'else if (!this.key.hashOf(block, before).equals(hash))',
    replace: 'else if (this.key.hashOf(block, before).length !== hash.length)',
    tests: [[CHAIN, 'removes, changes or makes blocks']],
  },
  {
    name: 'journal: a chain that ends before a checkpoint is found',
    file: 'src/journal/verification.ts',
    find: 'if (this.known !== undefined && !this.#knownIsThere)',
    replace: 'if (this.known !== undefined && this.#knownIsThere && this.#blocks === 0)',
    tests: [[CHAIN, 'cuts the end off']],
  },
  {
    name: 'journal: blocks that are made while it is looked at are looked at, too',
    file: 'src/journal/verification.ts',
    find: '    await this.#checkBlocks(end);\n',
    replace: '    if (end.blockBefore < 0) await this.#checkBlocks(end);\n',
    tests: [[VERIFICATION, 'an entry that somebody put in, taken up']],
  },
  {
    name: 'journal: a process says that the chain was cut',
    file: 'src/journal/chain.ts',
    find: '    this.reports.onCut({ number: known.number, failover: lineage !== known.lineage });\n',
    replace: '    lineage.at(0);\n',
    tests: [[CHAIN, 'cuts the end off']],
  },
  {
    name: 'journal: a process says that entries are not ours',
    file: 'src/journal/chain.ts',
    find: '      if (added.foreign.length > 0) this.reports.onForeign(added.foreign);\n',
    replace: '',
    tests: [[CHAIN, 'inserts entries: with another’s mark']],
  },
  {
    name: 'journal: a checkpoint of somebody else’s is refused',
    file: 'src/admin/journal.ts',
    find: 'if (!new ChainKey(key).isSigned(signedText(checkpoint), signature))',
    replace: 'if (signature.length < 0 && !new ChainKey(key).isSigned(signedText(checkpoint), signature))',
    tests: [['test/cli/journal-commands.test.ts', 'a checkpoint that was changed']],
  },
];

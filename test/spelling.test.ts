// Words are spelt as in Britain, in the code as in the documentation.
import { readdirSync } from 'node:fs';
import { test } from 'vitest';
import { PROJECT_ROOT } from '../testkit/project.js';
import { expectNone, filesUnder, linesWith, read } from '../testkit/project-files.js';

/** American spelling, and where it is none: a header, a property of CSS, an option of Node, a word of another system. */
const unwanted: readonly (readonly [RegExp, RegExp?])[] = [
  [
    /authoriz/i,
    /headers\.authorization|\bAuthorization\b|\bbuildAuthorizationUrl\b|\bauthorizationCodeGrant\b|'authorization'|`authorization: \{|\brejectUnauthorized\b/g,
  ],
  [/cancel(ed|ing|ation)/i],
  [/color/i, /[\w-]*color:|\bcolor-scheme\b|'stop-color'/g],
  [/behavior/i, /overscroll-behavior/g],
  [/organiz/i],
  [/initializ/i],
  [/recogniz/i],
  [/tokeniz/i, /\btokenizationSpecification\b/g],
  [/normaliz/i, /\.normalize\(/g],
  [/\bhonor/i],
  [/\bfavor/i],
  [/\bcatalog\b/i],
  [/fulfill(?!ed|ing)/i],
];

test('spelling is British', () => {
  const written = [
    ...['src', 'client/src', 'examples', 'migrations', 'docs'].flatMap(filesUnder),
    ...readdirSync(PROJECT_ROOT).filter((name) => name.endsWith('.md')),
  ];
  expectNone(
    written.flatMap((path) =>
      unwanted.flatMap(([word, except]) => {
        const text = except === undefined ? read(path) : read(path).replaceAll(except, '');
        return linesWith(text, word).map((line) => `${path}:${line}`);
      }),
    ),
    'Use the British form: authorisation, cancelled, colour, behaviour, organisation, initialise, recognise …',
  );
});

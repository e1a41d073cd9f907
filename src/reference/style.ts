// The looks of the reference page: one style sheet for wide and narrow, light and dark, screen and paper.

export const REFERENCE_PAGE_STYLE = `
:root {
  --page: #ffffff; --panel: #f6f7f6; --line: #dfe3e1; --text: #1c2523; --soft: #56625f;
  --accent: #0a6b5c; --accent-tint: #e4f2ef; --warn: #8a3b00; --warn-tint: #fff3e4; --warn-line: #e8a765;
  --get: #0b57a4; --get-tint: #e3eefa; --post: #0a6b3d; --post-tint: #e0f3e8;
  --patch: #7a4b00; --patch-tint: #fbeed3; --delete: #a8232b; --delete-tint: #fbe6e7;
  --code: #10201d; --code-text: #d9e6e2; --code-string: #8fdcc3; --code-soft: #9fb3ad;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #121816; --panel: #1a2220; --line: #2f3a37; --text: #e3eae8; --soft: #a3b1ad;
    --accent: #62d0b8; --accent-tint: #17332d; --warn: #ffbe85; --warn-tint: #33231a; --warn-line: #8a5a2b;
    --get: #8ec2ff; --get-tint: #172c44; --post: #7fdba6; --post-tint: #14332a;
    --patch: #f0c36d; --patch-tint: #382c14; --delete: #ff9d9f; --delete-tint: #3f1d20;
    --code: #0b100f;
  }
}

* { box-sizing: border-box; }
html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 var(--sans); }
a { color: var(--accent); text-underline-offset: .2em; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
code, pre, .method, .status { font-family: var(--mono); font-size: .86em; }
p code, li code, td code { overflow-wrap: anywhere; }
p, ul, ol { margin: 0 0 1rem; }
li + li { margin-top: .35rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 3; padding: .5rem 1rem; background: var(--page); }

body { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
main { padding: 3.5rem clamp(1.5rem, 4vw, 4.5rem) 6rem; max-width: 92rem; }

.bar { display: none; }
#closed { display: none; }
nav {
  position: sticky; top: 0; height: 100vh; overflow-y: auto; overscroll-behavior: contain;
  padding: 1.75rem 1rem 2rem; background: var(--panel); border-right: 1px solid var(--line); font-size: .875rem;
}
nav .brand { padding: 0 .6rem; font-size: 1.15rem; font-weight: 700; letter-spacing: -.01em; }
nav .brand > a:first-child { color: var(--text); text-decoration: none; }
nav .brand small { color: var(--soft); font-weight: 400; font-size: .75rem; }
nav .title { margin: 1.6rem .6rem .4rem; font-weight: 700; font-size: .72rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li + li { margin: 0; }
nav li a {
  display: flex; gap: .6rem; align-items: baseline; padding: .3rem .6rem; border-radius: 6px;
  color: var(--text); text-decoration: none; line-height: 1.4; overflow-wrap: anywhere;
}
nav li a:hover { background: var(--accent-tint); color: var(--accent); }
nav .method { flex: none; width: 3.6rem; text-align: center; }

h1, h2, h3, h4 { line-height: 1.25; letter-spacing: -.012em; }
h1 { margin: 0 0 .75rem; font-size: clamp(2rem, 4vw, 2.75rem); letter-spacing: -.025em; }
h1 small { font-weight: 400; color: var(--soft); }
.lead { max-width: 44rem; font-size: 1.15rem; color: var(--soft); }
.group { margin-top: 4.5rem; }
.group > h2 { margin: 0; font-size: 1.9rem; }
h3 { margin: 0 0 .6rem; font-size: 1.4rem; }
h4 { margin: 2.2rem 0 .6rem; font-size: .95rem; letter-spacing: 0; }
.anchor { margin-left: .2rem; font-weight: 400; text-decoration: none; opacity: 0; }
h3:hover .anchor, .anchor:focus, :target > h3 .anchor, :target > header .anchor { opacity: 1; }

.introduction { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 3.5rem; }
.introduction section { padding-top: 1.75rem; min-width: 0; }
.introduction h2 { margin: 0 0 .6rem; font-size: 1.2rem; }
.introduction #outcomes { grid-row: span 2; }
.introduction #errors { grid-column: 1 / -1; }
.warning { padding: .8rem 1rem; border-left: 3px solid var(--warn-line); border-radius: 0 6px 6px 0; background: var(--warn-tint); }
.warning strong { color: var(--warn); }
ol { padding-left: 1.4rem; }
ol li::marker { color: var(--accent); font-weight: 700; }

.operation, .object { margin-top: 2.25rem; padding-top: 2.25rem; border-top: 1px solid var(--line); }
.route { display: flex; gap: .7rem; align-items: baseline; overflow-wrap: anywhere; }
.route code { font-size: .95rem; min-width: 0; }
.route span { color: var(--soft); }
.rules > h4:first-child { margin-top: .4rem; }
.method { padding: .12rem .4rem; border-radius: 4px; font-size: .68rem; font-weight: 700; letter-spacing: .03em; color: var(--get); background: var(--get-tint); }
.route .method { flex: none; font-size: .78rem; }
.method.post { color: var(--post); background: var(--post-tint); }
.method.patch, .method.put { color: var(--patch); background: var(--patch-tint); }
.method.delete { color: var(--delete); background: var(--delete-tint); }
.status { padding: .1rem .4rem; border-radius: 4px; font-weight: 600; color: var(--delete); background: var(--delete-tint); }
.status.ok { color: var(--post); background: var(--post-tint); }

figure { margin: 0 0 1.25rem; border-radius: 10px; overflow: hidden; background: var(--code); color: var(--code-text); border: 1px solid var(--line); }
figcaption { padding: .55rem 1rem 0; font-size: .75rem; color: var(--code-soft); }
pre { margin: 0; padding: .6rem 1rem 1rem; overflow-x: auto; line-height: 1.55; font-size: .78rem; }
pre code { font-size: inherit; }
pre span { color: var(--code-string); }
pre:focus-visible { outline-offset: -3px; outline-color: var(--code-string); }
pre i { color: var(--code-soft); font-style: normal; }

table { width: 100%; border-collapse: collapse; font-size: .9rem; line-height: 1.5; margin: 0 0 1rem; }
th { padding: .4rem .75rem .4rem 0; text-align: left; font-size: .76rem; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
td { padding: .6rem .9rem .6rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
td:last-child { padding-right: 0; }
tr:last-child > td { border-bottom: 0; }
.fields { table-layout: fixed; }
.fields th:first-child { width: 44%; }
.errors th:first-child { width: 30%; }
.errors .type { display: inline; }
.field { font-weight: 650; overflow-wrap: anywhere; }
.field span { font-weight: 400; color: var(--soft); }
.type { display: block; font-size: .82rem; color: var(--soft); overflow-wrap: anywhere; }
.type b { font-weight: 500; color: var(--warn); }
.limits { margin: .15rem 0 0; padding: 0; list-style: none; font-size: .82rem; line-height: 1.45; color: var(--soft); }
.limits li { padding-left: .8rem; text-indent: -.8rem; }
.limits li::before { content: "– "; }
.limits li + li { margin-top: .1rem; }
.plain td:first-child code { white-space: nowrap; overflow-wrap: normal; }

details { margin: .6rem 0; border: 1px solid var(--line); border-radius: 8px; }
summary { padding: .55rem .9rem; cursor: pointer; font-size: .9rem; font-weight: 600; border-radius: 8px; }
summary:hover { background: var(--panel); }
summary .status { font-size: .7rem; }
details > :not(summary) { margin: 0; }
details > table { width: calc(100% - 1.8rem); margin: 0 .9rem .6rem; }
details > ul { padding: 0 .9rem .8rem 2rem; font-size: .9rem; }

@media (min-width: 78rem) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) minmax(22rem, 26rem); column-gap: 2.5rem; }
  .operation > header { grid-column: 1; }
  .operation > .rules { grid-column: 1; }
  .operation > .example { grid-column: 2; grid-row: 1 / span 2; }
  .example figure { position: sticky; top: 1.5rem; }
}

@media screen and (max-width: 52rem) {
  html { scroll-padding-top: 4.25rem; }
  body { display: block; }
  main { padding: 1.75rem 1.1rem 4rem; }
  .bar {
    display: flex; justify-content: space-between; align-items: center; position: sticky; top: 0; z-index: 1;
    padding: .7rem 1.1rem; background: var(--panel); border-bottom: 1px solid var(--line);
  }
  .bar a:first-child { color: var(--text); font-weight: 700; text-decoration: none; }
  /* Choosing an entry moves the target away from the list, and so closes it without a script. */
  nav { display: none; position: fixed; inset: 0; z-index: 2; height: auto; border: 0; font-size: 1rem; }
  nav:target { display: block; }
  nav li a { padding: .5rem .6rem; }
  #closed { display: inline; float: right; font-size: 1rem; font-weight: 400; }
  .group { margin-top: 3.25rem; }
  .fields, .fields tbody, .fields tr, .fields td { display: block; }
  .fields thead { display: none; }
  .fields tr { padding: .75rem 0; border-bottom: 1px solid var(--line); }
  .fields td { padding: 0; border: 0; }
  .fields tr:last-child { border-bottom: 0; }
  .fields td:first-child { padding-bottom: .25rem; }
  .anchor { opacity: 1; }
}

@media print {
  :root { --page: #fff; --panel: #fff; --text: #000; --soft: #444; --line: #bbb; --code: #fff; --code-text: #000; --code-string: #000; --code-soft: #444; }
  body, .introduction, .operation { display: block; font-size: 10.5pt; }
  nav, .bar, .skip, .anchor { display: none; }
  main { padding: 0; max-width: none; }
  details::details-content { content-visibility: visible; }
  h2, h3, h4, summary { break-after: avoid; }
  tr, figure { break-inside: avoid; }
  pre { white-space: pre-wrap; }
}
`;

// Elements of the page, made and found.

/** An element with attributes, and what is in it. Texts stay texts. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...content: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

export function found<Kind extends Element>(selector: string, within: ParentNode = document): Kind {
  const one = within.querySelector<Kind>(selector);
  if (one === null) throw new Error(`the page has no ${selector}`);
  return one;
}

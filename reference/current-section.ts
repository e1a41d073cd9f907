// Marks in the contents which section is being read.

export function markCurrentSection(): void {
  const contents = document.getElementById('contents');
  if (contents === null) return;
  const links = new Map(
    [...contents.querySelectorAll<HTMLAnchorElement>('li a')].map((link) => [link.hash.slice(1), link]),
  );
  const sections = [...links.keys()]
    .map((id) => document.getElementById(id))
    .filter((section) => section !== null);
  let current: HTMLAnchorElement | undefined;
  const mark = () => {
    // The last one that has begun above the upper third; of two side by side the first.
    const line = innerHeight / 3;
    const tops = sections.map((each) => each.getBoundingClientRect().top);
    const begun = Math.max(...tops.filter((top) => top <= line));
    const section = sections[tops.indexOf(begun)];
    const link = section && links.get(section.id);
    if (link === current) return;
    current?.removeAttribute('aria-current');
    link?.setAttribute('aria-current', 'location');
    if (link) bringIntoView(contents, link);
    current = link;
  };
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  };
  addEventListener('scroll', later, { passive: true });
  addEventListener('resize', later);
  mark();
}

/** Scrolls the contents alone: to scroll the page would take it from the reader. */
function bringIntoView(contents: HTMLElement, link: HTMLElement): void {
  const [outer, inner] = [contents.getBoundingClientRect(), link.getBoundingClientRect()];
  if (inner.top >= outer.top + 80 && inner.bottom <= outer.bottom - 40) return;
  contents.scrollTop += inner.top - outer.top - outer.height / 3;
}

// A browser may name a language that no formatter takes (`en-US@posix`, where the system's locale is C). The charts ask for it as they
// are loaded, and the page would not open.
const OTHERWISE = 'en-AU';

try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: OTHERWISE });
}

// Which language samples are shown in: the same for all of them, and again at the next visit.
import { element } from './elements.js';

const KEPT_AS = 'tollgate-reference-language';
const FIRST = 'curl';
const TITLES: Readonly<Record<string, string>> = { curl: 'curl', typescript: 'TypeScript', python: 'Python' };

/** A browser may forbid to keep anything. */
export function chosenLanguage(): string {
  try {
    const kept = localStorage.getItem(KEPT_AS) ?? FIRST;
    return kept in TITLES ? kept : FIRST;
  } catch {
    return FIRST;
  }
}

export function chooseLanguage(language: string): void {
  document.documentElement.dataset.language = language;
  for (const button of document.querySelectorAll<HTMLElement>('[data-choose]'))
    button.setAttribute('aria-pressed', String(button.dataset.choose === language));
}

export function addLanguageChoice(): void {
  for (const samples of document.querySelectorAll<HTMLElement>('.samples')) {
    const languages = [...samples.querySelectorAll<HTMLElement>('[data-sample]')].map(
      ({ dataset }) => dataset.sample ?? '',
    );
    if (languages.length < 2) continue;
    const choice = element('div', {
      class: 'languages',
      role: 'group',
      'aria-label': 'Language of the samples',
    });
    for (const language of languages) {
      const button = element(
        'button',
        { type: 'button', 'data-choose': language },
        TITLES[language] ?? language,
      );
      button.addEventListener('click', () => choose(language, button));
      choice.append(button);
    }
    samples.prepend(choice);
  }
  chooseLanguage(chosenLanguage());
}

/** What was clicked stays where it is, though samples above it change their height. */
function choose(language: string, button: HTMLElement): void {
  const before = button.getBoundingClientRect().top;
  chooseLanguage(language);
  scrollBy({ top: button.getBoundingClientRect().top - before, behavior: 'instant' });
  try {
    localStorage.setItem(KEPT_AS, language);
  } catch {
    // Chosen for this visit only.
  }
}

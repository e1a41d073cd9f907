// What the reference page does where scripts run: samples in one language, copying, searching, the place in the contents, trying out.
// Without it the page says all the same.
import { addCopyButtons } from './copying.js';
import { markCurrentSection } from './current-section.js';
import { addLanguageChoice, chooseLanguage, chosenLanguage } from './languages.js';
import { addSearch } from './search.js';
import { addTrials } from './trials.js';

// Before the page is shown, so that nothing moves afterwards.
chooseLanguage(chosenLanguage());

document.addEventListener('DOMContentLoaded', () => {
  for (const place of document.querySelectorAll('[data-origin]')) place.textContent = location.origin;
  addLanguageChoice();
  addCopyButtons();
  addSearch();
  addTrials();
  markCurrentSection();
});

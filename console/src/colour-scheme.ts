// Sets light or dark before the first paint: as the operator chose in this browser, else as the system has it. A file of its own, since
// the page allows no inline script.
const chosen = localStorage.getItem('tollgate-colour-scheme');
const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
document.documentElement.dataset.mantineColorScheme = dark ? 'dark' : 'light';

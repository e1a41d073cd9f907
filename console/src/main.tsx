// The entry point: the providers around everything on the page.
import './language.js';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { QUERIES } from './api/queries.js';
import { App } from './app.js';
import './styles.css';

const SCHEMES = localStorageColorSchemeManager({ key: 'tollgate-colour-scheme' });

// Mantine would put its variables and classes into style elements, which the content security policy forbids: see theme.css.
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider
      withCssVariables={false}
      withGlobalClasses={false}
      defaultColorScheme="auto"
      colorSchemeManager={SCHEMES}
      theme={{ primaryColor: 'indigo', respectReducedMotion: true }}
    >
      <QueryClientProvider client={QUERIES}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);

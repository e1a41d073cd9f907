// The page's beginning: what everything on it stands in.
import './language.js';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { QUERIES } from './api/queries.js';
import { App } from './app.js';
import './styles.css';

const SCHEMES = localStorageColorSchemeManager({ key: 'tollgate-colour-scheme' });

// Mantine would write its variables and classes into elements of style, which the page does not allow: they stand in theme.css.
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

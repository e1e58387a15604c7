// Entry of the console.
import { createRoot } from 'react-dom/client';
import { App } from './app';
import { activate, initialLocale } from './i18n';
import { applyTheme } from './lib/prefs';
import './style/tokens.css';
import './style/base.css';
import './style/ui.css';
import './style/views.css';

applyTheme();
const locale = initialLocale();
const root = document.getElementById('root');
void activate(locale).then(() => root && createRoot(root).render(<App locale={locale} />));

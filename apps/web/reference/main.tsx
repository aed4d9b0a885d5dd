import { render } from 'preact';
import { hideCompositionKeys } from '../ui/composition.ts';
import { applyTheme } from '../ui/theme.ts';
import { App } from './app.tsx';
import '../ui/theme.css';
import './reference.css';
import './reference-details.css';

applyTheme();
// The text of a guide for readers without scripts. The page shows it itself.
document.getElementById('guide')?.remove();
hideCompositionKeys();
render(<App />, document.getElementById('app') as HTMLElement);

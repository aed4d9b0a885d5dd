import { render } from 'preact';
import { hideCompositionKeys } from '../ui/composition.ts';
import { applyTheme } from '../ui/theme.ts';
import { App } from './app.tsx';
import '../ui/theme.css';
import './client.css';

applyTheme();
hideCompositionKeys();
render(<App />, document.getElementById('app') as HTMLElement);

import { render } from 'preact';
import { applyTheme } from '../ui/theme.ts';
import { App } from './app.tsx';
import '../ui/theme.css';
import './reference.css';
import './reference-details.css';

applyTheme();
render(<App />, document.getElementById('app') as HTMLElement);

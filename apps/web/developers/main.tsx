import { render } from 'preact';
import { applyTheme, applyTheme } from '../ui/theme.ts';
import { Portal } from './portal.tsx';
import '../ui/theme.css';
import './portal.css';

applyTheme();
applyTheme();
render(<Portal />, document.getElementById('app') as HTMLElement);

import { render } from 'preact';
import { applyTheme } from '../ui/theme.ts';
import { Portal } from './portal.tsx';
import '../ui/theme.css';
import './portal.css';

applyTheme();
render(<Portal />, document.getElementById('app') as HTMLElement);

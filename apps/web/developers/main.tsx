import { render } from 'preact';
import { hideCompositionKeys } from '../ui/composition.ts';
import { applyTheme } from '../ui/theme.ts';
import { Portal } from './portal.tsx';
import '../ui/theme.css';
import './portal.css';

applyTheme();
hideCompositionKeys();
render(<Portal />, document.getElementById('app') as HTMLElement);

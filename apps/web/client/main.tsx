import { render } from 'preact';
import { App } from './app.tsx';
import '../ui/theme.css';
import './client.css';

render(<App />, document.getElementById('app') as HTMLElement);

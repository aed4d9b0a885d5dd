import { render } from 'preact';
import '../ui/theme.css';

render(<h1>Parlance for developers</h1>, document.getElementById('app') as HTMLElement);

import { describeLives } from './state-lives.ts';

describeLives(1);

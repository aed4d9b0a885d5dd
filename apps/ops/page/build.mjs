/**
 * Builds the operators' overview into `dist/apps/ops/page`: compiles its scripts to modules that browsers load directly, and copies its style sheet and icon.
 * Run by `npm run build` and by `npm start`. Exits with the compiler's exit code.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const dist = (name) => fileURLToPath(new URL(`../../../dist/apps/ops/page/${name}`, import.meta.url));

mkdirSync(dist(''), { recursive: true });
for (const name of ['style.css', 'icon.svg']) copyFileSync(here(name), dist(name));
const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
const { status } = spawnSync(process.execPath, [compiler, '-p', here('tsconfig.json')], { stdio: ['ignore', 2, 2] });
process.exitCode = status ?? 1;

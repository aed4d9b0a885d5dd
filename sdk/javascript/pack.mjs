// Compiles the JavaScript kit and packs it for npm into dist/web/kits, from where the API serves it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const staged = `${root}dist/kits/javascript`;
const served = `${root}dist/web/kits`;

rmSync(staged, { recursive: true, force: true });
mkdirSync(served, { recursive: true });
const compile = (...options) =>
  execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', 'sdk/javascript', '--noEmit', 'false', ...options], {
    cwd: root,
    stdio: 'inherit',
  });
compile();
// The same as CommonJS, for programs that load the kit with `require`.
compile('--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false', '--outDir', `${staged}/dist/cjs`);
writeFileSync(`${staged}/dist/cjs/package.json`, '{ "type": "commonjs" }\n');
// The compiler rewrites the extensions of imports in JavaScript, but not in declarations.
for (const file of readdirSync(`${staged}/dist`, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('.d.ts'))) {
  const path = `${staged}/dist/${file}`;
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.{1,2}\/[^']+)\.ts'/g, "$1.js'"));
}
for (const file of ['package.json', 'README.md', 'LICENSE']) cpSync(`${root}sdk/javascript/${file}`, `${staged}/${file}`);
execFileSync('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', served], {
  cwd: staged,
  stdio: ['ignore', 'ignore', 'inherit'],
  shell: process.platform === 'win32',
});

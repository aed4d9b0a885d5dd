/**
 * Prepares a clone and runs a command: `node apps/local/install.mjs <command> [arguments]`. Checks the Node version, installs the locked packages if they are
 * missing or differ from the lock file, compiles what changed, then runs the command in this process. Needs no packages itself.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const inRoot = (...parts) => join(root, ...parts);
const print = (line) => process.stderr.write(`${line}\n`);
const exitWith = (line, code = 1) => {
  print(line);
  process.exit(code);
};

/** The script of each command; any other word is the path of a script. */
const commands = {
  start: 'dist/apps/local/main.js',
  stores: 'dist/apps/local/stores-main.js',
  listen: 'dist/apps/local/listen.js',
  forward: 'dist/apps/local/forward.js',
  link: 'dist/apps/local/link.js',
  operator: 'dist/apps/local/operator.js',
  dev: 'dist/apps/local/dev.js',
  test: 'dist/apps/local/test-main.js',
};

/** Commands that serve pages to browsers. */
const withPages = ['start', 'dev', 'test'];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    exitWith(
      `Parlance needs Node.js 20.19 or newer, but this is ${process.versions.node}. Install a newer version, then run the command again.`,
    );
}

/** Prints every 5 s how long a step without output has taken, so that it does not seem to hang. Returns a function that stops this. */
function showElapsed(what) {
  const began = Date.now();
  print(`${what} …`);
  const timer = setInterval(() => print(`${what} … ${Math.round((Date.now() - began) / 1000)} s`), 5000);
  return () => clearInterval(timer);
}

/** Runs npm, with this Node if npm started this process. Resolves with its exit code. */
function npm(args) {
  const npmScript = process.env.npm_execpath ?? '';
  const [command, first] = /npm-cli\.c?js$/.test(npmScript) ? [process.execPath, [npmScript]] : ['npm', []];
  const child = spawn(command, [...first, ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2], // stdout belongs to the command
    shell: process.platform === 'win32',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((done) => {
    child.on('error', (error) => exitWith(`Could not run npm (${error.message}). It comes with Node.js; add it to your PATH.`));
    child.on('exit', (code, signal) => {
      for (const one of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(one);
      done(signal ? 130 : (code ?? 1));
    });
  });
}

/** Whether the packages in node_modules match the lock file; also true for an install that somebody made with npm directly. */
function isAsLocked(lock) {
  const hidden = inRoot('node_modules/.package-lock.json');
  if (!existsSync(hidden)) return false;
  const installed = JSON.parse(readFileSync(hidden, 'utf8')).packages ?? {};
  const wanted = Object.entries(JSON.parse(lock).packages ?? {}).filter(([path]) => path !== '');
  return wanted.every(([path, { version, optional }]) => (installed[path] ? installed[path].version === version : optional === true));
}

async function install() {
  const lock = readFileSync(inRoot('package-lock.json'), 'utf8');
  const stamp = createHash('sha256').update(lock).update(`${process.platform} ${process.arch}`).digest('hex');
  const stampFile = inRoot('node_modules/.installed');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  if (!isAsLocked(lock)) {
    const done = showElapsed('Installing packages (once, about a minute)');
    // No package needs its install script, so none is run. Development tools are needed even if `npm test` runs with NODE_ENV=production.
    const code = await npm(['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
    done();
    if (code !== 0) exitWith(`The packages could not be installed (npm exited with code ${code}, see above). Nothing was started.`, code);
  }
  writeFileSync(stampFile, stamp);
}

/** The files in a folder and in those within it, or the file at this path. */
const listFiles = (path) =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));

/** What the compiled code comes from. */
const compiledFrom = [
  'apps',
  'config',
  'lib',
  'local-database',
  'sdk',
  'test',
  'workers',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** A text that is another one after a source was added, removed or written. Modification times alone do not tell: an unpacked archive brings older ones. */
function stampSources() {
  const hash = createHash('sha256');
  for (const path of compiledFrom
    .map((source) => inRoot(source))
    .filter(existsSync)
    .flatMap(listFiles)) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

/** Compiles the sources if they have changed since the last time. */
function build(entry) {
  const compiler = inRoot('node_modules/typescript/bin/tsc');
  const stale = inRoot('dist/.tsbuildinfo');
  const stampFile = inRoot('dist/.compiled');
  const stamp = stampSources();
  if (existsSync(inRoot(entry)) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  // The compiler's incremental state is wrong if somebody removed output files by hand.
  if (existsSync(stale) && entry.startsWith('dist/') && !existsSync(inRoot(entry))) rmSync(stale);
  const done = existsSync(stale) ? () => undefined : showElapsed('Compiling');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: ['inherit', 2, 2] });
  done();
  if (status !== 0) exitWith('The sources do not compile (see above). Nothing was started.', status ?? 1);
  mkdirSync(inRoot('dist'), { recursive: true });
  writeFileSync(stampFile, stamp);
}

/** The latest modification time of these files and of the files in these folders, in Unix milliseconds. Python's compiled files do not count. */
const changedMs = (...sources) =>
  Math.max(
    ...sources
      .flatMap((source) => listFiles(inRoot(source)))
      .filter((path) => !path.includes('__pycache__'))
      .map((path) => statSync(path).mtimeMs),
  );

/** The pages for browsers and the kits that they offer: the file whose modification time is that of the last build, its sources, and the build script. */
const pages = () => [
  {
    built: 'dist/web/index.html',
    sources: ['apps/web', 'docs/guides', 'sdk/javascript/README.md', 'sdk/python/README.md', 'lib/base'],
    script: ['node_modules/vite/bin/vite.js', 'build', '--config', 'apps/web/vite.config.ts', '--logLevel', 'error'],
  },
  { built: 'dist/apps/ops/page/main.js', sources: ['apps/ops/page'], script: ['apps/ops/page/build.mjs'] },
  // After the pages, because their build empties dist/web.
  { built: `dist/web/kits/parlance-bot-${javascriptKitVersion()}.tgz`, sources: ['sdk/javascript'], script: ['sdk/javascript/pack.mjs'] },
  {
    built: `dist/web/kits/parlance-${pythonKitVersion()}-py3-none-any.whl`,
    sources: ['sdk/python'],
    script: ['sdk/python/wheel.mjs', 'dist/web/kits'],
  },
];

const javascriptKitVersion = () => JSON.parse(readFileSync(inRoot('sdk/javascript/package.json'), 'utf8')).version;
const pythonKitVersion = () => /VERSION = "(.+)"/.exec(readFileSync(inRoot('sdk/python/parlance/version.py'), 'utf8'))[1];

/** Builds the pages whose sources are newer than their last build. */
function buildPages() {
  for (const { built, sources, script } of pages()) {
    if (existsSync(inRoot(built)) && statSync(inRoot(built)).mtimeMs > changedMs(...sources)) continue;
    const done = showElapsed('Building the pages');
    const { status } = spawnSync(process.execPath, script, { cwd: root, stdio: ['inherit', 2, 2] });
    done();
    if (status !== 0) exitWith('The pages could not be built (see above). Nothing was started.', status ?? 1);
  }
}

const [word, ...rest] = process.argv.slice(2);
if (!word) exitWith(`usage: node apps/local/install.mjs <${Object.keys(commands).join('|')}|script> [arguments]`, 64);
const entry = Object.hasOwn(commands, word) ? commands[word] : word;

checkNode();
await install();
build(entry);
const isHelp = rest.includes('--help') || rest.includes('-h');
if (withPages.includes(word) && !isHelp) buildPages();

// The command runs in this process, so signals and the exit code need no forwarding.
const script = resolve(root, entry);
if (!existsSync(script)) exitWith(`${entry} does not exist.`, 66);
process.setSourceMapsEnabled(true);
process.chdir(root);
process.argv = [process.execPath, script, ...rest];
await import(pathToFileURL(script).href);

/**
 * Brings a clone into a state where a command can run: `node apps/local/install.mjs <command> [arguments]`. Checks Node, installs the
 * locked packages when they are missing or other than locked, compiles what changed, then becomes the command. Needs no packages itself.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const inRoot = (...parts) => join(root, ...parts);
const say = (line) => process.stderr.write(`${line}\n`);
const end = (line, code = 1) => {
  say(line);
  process.exit(code);
};

/** What each command runs; any other word is taken as the path of a script. */
const commands = {
  start: 'dist/apps/local/main.js',
  stores: 'dist/apps/local/stores-main.js',
  listen: 'dist/apps/local/listen.js',
  link: 'dist/apps/local/link.js',
  operator: 'dist/apps/local/operator.js',
  dev: 'dist/apps/local/dev.js',
  test: 'dist/apps/local/test-main.js',
};

/** Those that serve pages to browsers. */
const withPages = ['start', 'dev', 'test'];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    end(`Parlance needs Node 20.19 or newer; this is ${process.versions.node}. Install a newer one and run this again.`);
}

/** Says how long a quiet step takes, so that nobody wonders whether it hangs. */
function tick(what) {
  const began = Date.now();
  say(`${what} …`);
  const timer = setInterval(() => say(`${what} … ${Math.round((Date.now() - began) / 1000)} s`), 5000);
  return () => clearInterval(timer);
}

/** Runs npm with the same Node, also when it is not on PATH. Resolves with its exit code. */
function npm(args) {
  const given = process.env.npm_execpath ?? '';
  const [command, first] = /npm-cli\.c?js$/.test(given) ? [process.execPath, [given]] : ['npm', []];
  // A run of npm test may come with NODE_ENV=production; the tools are needed all the same.
  const child = spawn(command, [...first, ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2], // stdout is the command's
    shell: process.platform === 'win32',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((done) => {
    child.on('error', (fault) => end(`npm cannot be run (${fault.message}). It comes with Node; put it on PATH.`));
    child.on('exit', (code, signal) => {
      for (const one of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(one);
      done(signal ? 130 : (code ?? 1));
    });
  });
}

/** Whether the packages that stand in node_modules are those of the lock; true for an install that somebody made with npm itself. */
function isAsLocked(lock) {
  const hidden = inRoot('node_modules/.package-lock.json');
  if (!existsSync(hidden)) return false;
  const there = JSON.parse(readFileSync(hidden, 'utf8')).packages ?? {};
  const wanted = Object.entries(JSON.parse(lock).packages ?? {}).filter(([path]) => path !== '');
  return wanted.every(([path, { version, optional }]) => (there[path] ? there[path].version === version : optional === true));
}

async function install() {
  const lock = readFileSync(inRoot('package-lock.json'), 'utf8');
  const stamp = createHash('sha256').update(lock).update(`${process.platform} ${process.arch}`).digest('hex');
  const stampFile = inRoot('node_modules/.installed');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  if (!isAsLocked(lock)) {
    const done = tick('Installing packages (once, about a minute)');
    // No package of ours needs its install script, so none gets to run one.
    const code = await npm(['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
    done();
    if (code !== 0) end(`The packages could not be installed (npm ended with ${code}, see above). Nothing was started.`, code);
  }
  writeFileSync(stampFile, stamp);
}

function build(entry) {
  const compiler = inRoot('node_modules/typescript/bin/tsc');
  const stale = inRoot('dist/.tsbuildinfo');
  // The compiler's memory of what it wrote is wrong when somebody removed files by hand.
  if (existsSync(stale) && entry.startsWith('dist/') && !existsSync(inRoot(entry))) rmSync(stale);
  const done = existsSync(stale) ? () => undefined : tick('Compiling');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: ['inherit', 2, 2] });
  done();
  if (status !== 0) end('The sources do not compile (see above). Nothing was started.', status ?? 1);
}

/** The newest change below these folders, in Unix milliseconds. */
const changedMs = (...folders) =>
  Math.max(
    ...folders.flatMap((folder) => readdirSync(inRoot(folder), { recursive: true }).map((file) => statSync(inRoot(folder, file)).mtimeMs)),
  );

/** What browsers get: the file that says when it was built last, what it is built from, and by which script. */
const pages = [
  {
    built: 'dist/web/index.html',
    sources: ['apps/web', 'lib/base'],
    script: ['node_modules/vite/bin/vite.js', 'build', '--config', 'apps/web/vite.config.ts', '--logLevel', 'error'],
  },
  { built: 'dist/apps/ops/page/main.js', sources: ['apps/ops/page'], script: ['apps/ops/page/build.mjs'] },
];

/** Builds what browsers get, where a source of it is newer than the last build. */
function buildPages() {
  for (const { built, sources, script } of pages) {
    if (existsSync(inRoot(built)) && statSync(inRoot(built)).mtimeMs > changedMs(...sources)) continue;
    const done = tick('Building the pages');
    const { status } = spawnSync(process.execPath, script, { cwd: root, stdio: ['inherit', 2, 2] });
    done();
    if (status !== 0) end('The pages cannot be built (see above). Nothing was started.', status ?? 1);
  }
}

const [word, ...rest] = process.argv.slice(2);
if (!word) end(`usage: node apps/local/install.mjs <${Object.keys(commands).join('|')}|script> [arguments]`, 64);
const entry = Object.hasOwn(commands, word) ? commands[word] : word;

checkNode();
await install();
build(entry);
if (withPages.includes(word)) buildPages();

// The command runs in this very process, so signals and the exit code need no forwarding.
const script = resolve(root, entry);
if (!existsSync(script)) end(`${entry} does not exist.`, 66);
process.setSourceMapsEnabled(true);
process.chdir(root);
process.argv = [process.execPath, script, ...rest];
await import(pathToFileURL(script).href);

/**
 * Completes package-lock.json after `npm install`: a registry that serves only some platforms makes npm leave the others' binaries out of the
 * lock, and then `npm ci` refuses it everywhere. Adds each missing optional package by its exact version, with the platform its name tells.
 * `node .ci/complete-lock.mjs` writes; with `--check` it only says what is missing and ends with 1. `--integrity` writes too, and asks the registry for the
 * checksum of each package that has none; it ends at the first one that the registry does not offer.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const { packages } = lock;

const systems = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'aix', 'win32'];
const cpus = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** Where npm would find `name` from the package at `path`: beside it, or in a node_modules further up. */
function isLocked(path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    if (packages[`${at ? `${at}/` : ''}node_modules/${name}`]) return true;
    if (!at) return false;
  }
}

function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = systems.filter((one) => words.includes(one));
  const cpu = cpus.filter((one) => words.includes(one));
  const libc = words.some((word) => word.startsWith('musl')) ? ['musl'] : words.some((word) => word.startsWith('gnu')) ? ['glibc'] : [];
  return { ...(cpu.length && { cpu }), ...(os.length && { os }), ...(libc.length && os.includes('linux') && { libc }) };
}

const added = [];
for (const [path, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
  for (const [name, range] of Object.entries(optionalDependencies)) {
    if (isLocked(path, name)) continue;
    const version = range.replace(/^[~^]/, '');
    if (!/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${path} wants ${name}@${range}: no exact version to lock`);
    packages[`node_modules/${name}`] = { version, ...(dev && { dev }), optional: true, ...platformOf(name) };
    added.push(`${name}@${version}`);
  }
}

if (process.argv.includes('--check')) {
  for (const one of added) process.stdout.write(`not in package-lock.json: ${one}\n`);
  process.exit(added.length ? 1 : 0);
}
let checked = 0;
if (process.argv.includes('--integrity')) {
  for (const [path, entry] of Object.entries(packages)) {
    if (!path || entry.link || entry.integrity) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    entry.integrity = execFileSync('npm', ['view', `${name}@${entry.version}`, 'dist.integrity'], { encoding: 'utf8' }).trim();
    checked++;
  }
}
if (added.length || checked) {
  const sorted = Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
}
process.stdout.write(`${added.length} added, ${checked} checksums\n`);

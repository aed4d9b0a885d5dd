import { spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { aptConfig, aptSources } from './debian-apt.ts';
import { withLock } from './lock.ts';

/** Receives one line of progress, without a line break. */
export type Report = (line: string) => void;

/** What to take from the archive. A recipe decides it once the package names in the archive are known. */
export interface PackagePlan {
  /** Packages to install, by name. */
  install: string[];
  /** Packages that apt treats as installed, so that it fetches neither them nor packages that only they depend on. */
  pretend: string[];
  /** Whether to keep a file of the packages, given its path below `usr/`. Shared libraries that kept files link to are always kept. */
  keep: (path: string) => boolean;
  /** Paths below `usr/` of the programs to wrap with their own dynamic loader. */
  programs: string[];
  /** A folder below `usr/` with the programs' own modules; it is searched after the libraries. */
  modules?: string;
  /** Files to add: path in the runtime → text. */
  files?: Record<string, string>;
}

/** A relocatable runtime made from Debian packages. */
export interface Recipe {
  /** Name of the cached folder. It contains the recipe's revision, so a changed recipe is unpacked again. */
  id: string;
  /** Prefix of the package names that `plan` receives. */
  prefix: string;
  plan: (available: readonly string[]) => PackagePlan;
}

const pretendedVersion = '99:99';

/** Whether this machine can unpack Debian packages: Linux with `apt-get` and `dpkg-deb` on the PATH. */
export async function hasDebianTools(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const found = await Promise.all(['apt-get', 'dpkg-deb'].map((name) => findOnPath([name])));
  return found.every(Boolean);
}

/** The first of `names` that is an executable file on the PATH, as a full path. */
export async function findOnPath(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(':').filter(Boolean)) {
      const path = join(folder, name);
      const info = await stat(path).catch(() => undefined);
      if (info?.isFile() && (info.mode & 0o111) !== 0) return path;
    }
  }
  return undefined;
}

/**
 * Returns the folder of a recipe's runtime: `<cacheDir>/<id>-<arch>`. On first use it is made from the machine's own Debian mirror. The folder appears
 * atomically; concurrent callers wait for the one that unpacks. Throws a one-line error if the mirror cannot be reached or does not have the packages.
 */
export async function debianRuntime(recipe: Recipe, cacheDir: string, report: Report): Promise<string> {
  const target = debianRuntimeFolder(recipe, cacheDir);
  if (await exists(target)) return target;
  await mkdir(cacheDir, { recursive: true });
  return withLock(`${target}.lock`, async () => {
    if (await exists(target)) return target;
    const work = `${target}.new-${process.pid}`;
    await rm(work, { recursive: true, force: true });
    try {
      await assemble(recipe, debianArch(), work, report);
      await rename(join(work, 'out'), target);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    return target;
  });
}

/** The folder in which {@link debianRuntime} puts a runtime, whether it exists or not. */
export function debianRuntimeFolder(recipe: Recipe, cacheDir: string): string {
  return join(cacheDir, `${recipe.id}-${debianArch()}`);
}

function debianArch(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}

async function assemble(recipe: Recipe, arch: string, work: string, report: Report): Promise<void> {
  const apt = join(work, 'apt');
  const root = join(work, 'root');
  const out = join(work, 'out');
  for (const folder of ['lists/partial', 'cache/archives/partial']) await mkdir(join(apt, folder), { recursive: true });
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(root, 'usr', folder), { recursive: true });
    await run('ln', ['-s', `usr/${folder}`, join(root, folder)]);
  }
  const config = join(apt, 'apt.conf');
  const env = { ...process.env, APT_CONFIG: config, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  await writeFile(config, await aptConfig(apt, arch));
  await writeFile(join(apt, 'status'), '');
  report('reading the package lists of this machine’s Debian mirror');
  const names = await updateLists(recipe, apt, env);
  const plan = recipe.plan(names);
  await writeFile(join(apt, 'status'), plan.pretend.map(pretendedPackage).join(''));
  await download(plan.install, env, report);
  const archives = join(apt, 'cache/archives');
  const debs = (await readdir(archives)).filter((name) => name.endsWith('.deb')).toSorted();
  report(`unpacking ${debs.length} packages`);
  for (const deb of debs) await run('dpkg-deb', ['-x', join(archives, deb), root]);
  await keepFiles(plan, join(root, 'usr'), out);
  for (const [path, text] of Object.entries(plan.files ?? {})) await writeFile(join(out, path), text);
  await writeFile(join(out, 'packages.txt'), `${debs.map((deb) => decodeURIComponent(deb.replace(/\.deb$/, ''))).join('\n')}\n`);
}

/** Fills apt's lists from the first source that has a package of the recipe, best source first. Returns the package names. */
async function updateLists(recipe: Recipe, apt: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  let failure = 'no Debian mirror in this machine’s apt sources';
  for (const source of await aptSources()) {
    await writeFile(join(apt, 'sources.list'), `${source}\n`);
    try {
      await run('apt-get', ['-qq', '--error-on=any', 'update'], env);
      const names = (await run('apt-cache', ['pkgnames', recipe.prefix], env)).split('\n').filter(Boolean);
      if (names.length > 0) return names;
      failure = `the mirror has no ${recipe.prefix}* package`;
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
  }
  throw new Error(failure);
}

async function download(packages: string[], env: NodeJS.ProcessEnv, report: Report): Promise<void> {
  let lastTenth = 0;
  const args = ['-qq', '-y', '--download-only', '--no-install-recommends', '-o', 'APT::Status-Fd=3', 'install', ...packages];
  await run('apt-get', args, env, (line) => {
    const percent = Number(/^dlstatus:\d+:([\d.]+):/.exec(line)?.[1] ?? 0);
    if (percent < (lastTenth + 1) * 10) return;
    lastTenth = Math.floor(percent / 10);
    report(`downloading packages: ${Math.round(percent)} %`);
  });
}

/** Copies the files that the plan keeps, wraps the programs, and adds each shared library that the packages' loader resolves for them. */
async function keepFiles(plan: PackagePlan, usr: string, out: string): Promise<void> {
  const multiarch = (await readdir(join(usr, 'lib'))).find((name) => /-linux-gnu/.test(name));
  if (!multiarch) throw new Error('the packages contain no libraries');
  const libraries = join(usr, 'lib', multiarch);
  const loader = (await readdir(libraries)).find((name) => /^ld-linux.*\.so\.\d+$/.test(name));
  if (!loader) throw new Error('the packages contain no dynamic loader');
  const search = [libraries, ...(plan.modules ? [join(usr, plan.modules)] : [])].join(':');
  const wanted = new Map<string, string>();
  await mkdir(join(out, 'lib', multiarch), { recursive: true });
  for (const path of await filesBelow(usr)) {
    if (!plan.keep(path)) continue;
    const from = join(usr, path);
    const isProgram = plan.programs.includes(path);
    await mkdir(dirname(join(out, path)), { recursive: true });
    await copyFile(from, join(out, isProgram ? `${path}.bin` : path));
    if (!isProgram && !/\.so(\.|$)/.test(path)) continue;
    const listed = await run(join(libraries, loader), ['--library-path', search, '--list', from]);
    for (const line of listed.split('\n')) {
      if (line.includes('not found')) throw new Error(`${basename(path)} needs a missing library: ${line.trim()}`);
      const match = /^\s*(\S+) => (\S+) \(/.exec(line);
      if (match?.[1] && match[2]?.startsWith(libraries)) wanted.set(basename(match[1]), match[2]);
    }
  }
  wanted.set(loader, join(libraries, loader));
  for (const [name, from] of wanted) await copyFile(from, join(out, 'lib', multiarch, name));
  await chmod(join(out, 'lib', multiarch, loader), 0o755);
  for (const program of plan.programs) await wrap(plan, program, `lib/${multiarch}`, loader, out);
}

/** Replaces a program with a script, to be started by its full path, that runs it with its packages' loader and libraries instead of the machine's. */
async function wrap(plan: PackagePlan, program: string, libraries: string, loader: string, out: string): Promise<void> {
  const up = '/..'.repeat(program.split('/').length - 1);
  const search = [libraries, ...(plan.modules ? [plan.modules] : [])].map((path) => `$root/${path}`).join(':');
  const script = `#!/bin/sh\nroot=\${0%/*}${up}\nexec "$root/${libraries}/${loader}" --argv0 "$0" --library-path "${search}" "$0.bin" "$@"\n`;
  await writeFile(join(out, program), script, { mode: 0o755 });
}

function pretendedPackage(name: string): string {
  return `Package: ${name}\nStatus: install ok installed\nVersion: ${pretendedVersion}\nArchitecture: all\nMulti-Arch: foreign\nMaintainer: nobody\nDescription: left out\n\n`;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Runs a program to its end and returns its output; throws with the last lines of its error output if it fails. */
async function run(program: string, args: string[], env = process.env, onStatus?: (line: string) => void): Promise<string> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe', onStatus ? 'pipe' : 'ignore'] });
  let output = '';
  let errorOutput = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    errorOutput = (errorOutput + chunk.toString()).slice(-2000);
  });
  if (onStatus) createInterface({ input: child.stdio[3] as Readable }).on('line', onStatus);
  const code = await new Promise<number | null>((done, failed) => {
    child.once('error', failed);
    child.once('close', done);
  });
  if (code === 0) return output;
  const reason = errorOutput.trim().split('\n').slice(-3).join(' ');
  throw new Error(`${basename(program)} failed: ${reason || `exit code ${code}`}`);
}

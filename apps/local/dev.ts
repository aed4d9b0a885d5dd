import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bringUp } from './bring-up.ts';
import { readArguments } from './command-line.ts';
import { runUntilStopped } from './lifecycle.ts';
import type { Role } from './roles.ts';
import { print } from './terminal.ts';

/*
 * `npm run dev`: like `npm start`, but also compiles on every change, restarts the affected roles and rebuilds the pages.
 */
readArguments(
  `Usage: npm run dev

Like \`npm start\`, but compiles on every change, restarts the affected processes and rebuilds the pages.
`,
  { options: {} },
);

const debounceMs = 300;
const dist = fileURLToPath(new URL('../../', import.meta.url));
const inRoot = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** Compilers that run beside the roles. Each watches its sources and compiles them into `dist`. */
const compilers = [
  ['typescript/bin/tsc', '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'],
  ['vite/bin/vite.js', 'build', '--watch', '--config', 'apps/web/vite.config.ts', '--logLevel', 'warn'],
  ['typescript/bin/tsc', '-p', 'apps/ops/page', '--watch', '--preserveWatchOutput'],
] as const;

/** The roles that run the compiled file at `path` (below dist): the role in whose folder it is, or all roles for lib and config. */
const rolesOf = (path: string, roles: readonly Role[]): Role[] => {
  if (!path.endsWith('.js')) return [];
  const island = /^(?:apps\/)?(api|gateway|ops|worker)s?\//.exec(path.replaceAll('\\', '/'))?.[1];
  if (island) return roles.filter(({ name }) => name === island);
  return /^(lib|config)\b/.test(path) ? [...roles] : [];
};

function restartOnChange(roles: readonly Role[]): () => void {
  const touched = new Set<Role>();
  let timer: NodeJS.Timeout | undefined;
  let busy = Promise.resolve();
  const restartTouched = (): void => {
    const now = [...touched];
    touched.clear();
    busy = busy.then(async () => {
      print(`Restarting ${now.map(({ name }) => name).join(', ')}.`);
      const results = await Promise.allSettled(now.map((role) => role.restart()));
      for (const result of results) if (result.status === 'rejected') print((result.reason as Error).message);
      if (results.every(({ status }) => status === 'fulfilled')) print('Ready.');
    });
  };
  const watcher = watch(dist, { recursive: true }, (_, path) => {
    for (const role of rolesOf(path ?? '', roles)) touched.add(role);
    if (!touched.size) return;
    clearTimeout(timer);
    timer = setTimeout(restartTouched, debounceMs);
  });
  return () => watcher.close();
}

await runUntilStopped(async (onStarted) => {
  const roles = await bringUp(onStarted);
  onStarted({ name: 'watcher', stop: restartOnChange(roles) });
  for (const [script, ...args] of compilers) {
    const child = spawn(process.execPath, [inRoot(`node_modules/${script}`), ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true, // its own process group, so that `stop` also reaches the children of the compiler
    });
    onStarted({
      name: 'compiler',
      stop: () => {
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid);
      },
    });
  }
  print('Watching the sources for changes.');
});

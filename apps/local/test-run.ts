import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the reporter of the tests writes (test/reporter.mjs): how many tests passed and failed, and how many failed in each file. */
interface TestResults {
  passed: number;
  failed: number;
  failedFiles: Record<string, number>;
}

/** If more files have failed, something is broken, and no file is run again. */
const repeatedFilesMax = 10;
/** How a file is run alone: as in .mocharc.json, but in one process. */
const aloneArgs = ['--no-config', '--import=tsx', '--require=./test/queries/recorder.ts', '--timeout=300000', '--forbid-only', '--exit'];

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs mocha. Resolves with its exit code, and with its results if it has come to its end. Forwards signals from this process to it. */
async function runMocha(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ code: number; results?: TestResults }> {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-results-'));
  const file = join(folder, 'results.json');
  const mocha = ['node_modules/mocha/bin/mocha.js', '--reporter', 'test/reporter.mjs', ...args];
  // Its own process group, so that Ctrl-C reaches mocha once, from here, and the stores outlive it.
  const times = { TEST_TIMES: env.TEST_TIMES ?? join(folder, 'times.jsonl') };
  const child = spawn(process.execPath, mocha, { env: { ...env, ...times, TEST_RESULTS: file }, stdio: 'inherit', detached: true });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, forward);
  const code = await new Promise<number>((done) => {
    child.on('exit', (exitCode, signal) => done(signal ? 130 : (exitCode ?? 1)));
    child.on('error', () => done(1));
  });
  for (const signal of signals) process.off(signal, forward);
  try {
    return { code, results: JSON.parse(readFileSync(file, 'utf8')) as TestResults };
  } catch {
    return { code };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Runs the tests. At the end, each file that has failed is run once more, alone. If it passes then, it is reported as flaky, and its tests count as passed.
 * The last line is `N passed, N failed`. Returns the exit code.
 */
export async function runTests(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { code, results } = await runMocha(args, env);
  const failedFiles = Object.entries(results?.failedFiles ?? {});
  if (!results || code === 130 || failedFiles.length === 0 || failedFiles.length > repeatedFilesMax) return code;
  const flaky: string[] = [];
  let { passed, failed } = results;
  for (const [file, count] of failedFiles) {
    if (file === '') continue; // a hook of no file
    print(`\n${file} has failed. It is run once more, alone.`);
    const again = await runMocha([...aloneArgs, file], env);
    if (again.code !== 0) continue;
    flaky.push(file);
    passed += count;
    failed -= count;
  }
  for (const file of flaky) print(`flaky: ${file} failed among the others and passed alone`);
  print(`${flaky.length} flaky\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : code;
}

import { print, UserFacingError } from './terminal.ts';

/** Something that was started and has to be stopped. */
export interface Started {
  name: string;
  stop: () => Promise<void> | void;
}

/** Time after the first Ctrl-C in which a second one is ignored, in milliseconds: npm and the terminal both send one. */
const repeatMs = 1000;
/** How often to check whether the npm that started this process still runs, in milliseconds. */
const parentCheckMs = 500;

/**
 * Runs `start`, which calls `onStarted` for each thing it started. Stops these in reverse order and ends the process on Ctrl-C, SIGTERM or SIGHUP, when the npm
 * that ran it has ended, and when `start` fails. A second Ctrl-C ends the process at once; its children end with it.
 */
export async function runUntilStopped(start: (onStarted: (one: Started) => void) => Promise<void>): Promise<void> {
  const started: Started[] = [];
  let stopRequestedMs = 0;

  const stopAll = async (): Promise<void> => {
    for (let one = started.pop(); one; one = started.pop()) {
      try {
        await one.stop();
      } catch (error) {
        print(`${one.name} did not stop cleanly: ${(error as Error).message}`);
      }
    }
  };

  const onSignal = (): void => {
    if (stopRequestedMs) {
      if (Date.now() - stopRequestedMs > repeatMs) process.exit(130);
      return;
    }
    stopRequestedMs = Date.now();
    print('\nStopping …');
    void stopAll().then(() => {
      print('Stopped.');
      process.exit(0);
    });
  };

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  // The shell in which npm runs a script does not forward npm's SIGTERM.
  const parent = process.ppid;
  const checkParent = (): void => {
    if (process.ppid !== parent && !stopRequestedMs) onSignal();
  };
  if (process.env.npm_lifecycle_event) setInterval(checkParent, parentCheckMs).unref();
  try {
    await start((one) => started.push(one));
  } catch (error) {
    // A signal during the start makes the start fail; that error is expected.
    if (stopRequestedMs) return;
    await stopAll();
    print(error instanceof UserFacingError ? error.message : `Parlance could not start: ${(error as Error).message}`);
    process.exit(1);
  }
}

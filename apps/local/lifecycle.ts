import { Plain, say } from './say.ts';

/** Something that was started and has to be stopped. */
export interface Started {
  name: string;
  stop: () => Promise<void> | void;
}

/** Time after the first Ctrl-C in which a second one is ignored, in milliseconds: npm and the terminal both send one. */
const echoMs = 1000;
/** How often to check whether the npm that started this process still runs, in milliseconds. */
const parentMs = 500;

/**
 * Runs `start`, which calls `note` for each thing it started. Stops these in reverse order and ends the process on Ctrl-C, SIGTERM or SIGHUP, when the npm
 * that ran it has ended, and when `start` fails. A second Ctrl-C ends the process at once; its children end with it.
 */
export async function runUntilStopped(start: (note: (one: Started) => void) => Promise<void>): Promise<void> {
  const started: Started[] = [];
  let askedMs = 0;

  const stopAll = async (): Promise<void> => {
    for (let one = started.pop(); one; one = started.pop()) {
      try {
        await one.stop();
      } catch (fault) {
        say(`${one.name} could not stop cleanly: ${(fault as Error).message}`);
      }
    }
  };

  const onSignal = (): void => {
    if (askedMs) {
      if (Date.now() - askedMs > echoMs) process.exit(130);
      return;
    }
    askedMs = Date.now();
    say('\nStopping …');
    void stopAll().then(() => {
      say('Stopped.');
      process.exit(0);
    });
  };

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  // The shell in which npm runs a script does not forward npm's SIGTERM.
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid !== parent && !askedMs) onSignal();
  };
  if (process.env.npm_lifecycle_event) setInterval(look, parentMs).unref();
  try {
    await start((one) => started.push(one));
  } catch (fault) {
    // A signal during the start makes the start fail; that error is expected.
    if (askedMs) return;
    await stopAll();
    say(fault instanceof Plain ? fault.message : `Parlance could not start: ${(fault as Error).message}`);
    process.exit(1);
  }
}

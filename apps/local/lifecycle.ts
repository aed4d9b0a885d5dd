import { Plain, say } from './say.ts';

/** Something that was started and has to be stopped. */
export interface Started {
  name: string;
  stop: () => Promise<void> | void;
}

/** A second Ctrl-C counts as impatience only this long after the first: npm and the terminal both pass one on. */
const echoMs = 1000;
/** How often is looked whether npm, which started this, is still there. */
const parentMs = 500;

/**
 * Runs `start`, which notes what it started; stops all that in reverse order at Ctrl-C, SIGTERM or SIGHUP, when the npm that ran it is gone, and
 * when `start` fails, and ends the process. A second Ctrl-C ends it at once; the children end with it.
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
  // The shell that npm runs a script by takes npm's SIGTERM for itself and passes nothing on.
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid !== parent && !askedMs) onSignal();
  };
  if (process.env.npm_lifecycle_event) setInterval(look, parentMs).unref();
  try {
    await start((one) => started.push(one));
  } catch (fault) {
    // A signal in the middle of the start makes what was starting fail; that is no news.
    if (askedMs) return;
    await stopAll();
    say(fault instanceof Plain ? fault.message : `Parlance could not start: ${(fault as Error).message}`);
    process.exit(1);
  }
}

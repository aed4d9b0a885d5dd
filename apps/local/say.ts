/** An error that the user can fix: shown as one line, without a stack. */
export class Plain extends Error {}

/** Prints one line for the person at the terminal. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Prints what a long step does: each new line once, and every 5 s without one how long the step has taken. Call `stop` when the step is over. */
export function progress(what: string): { report: (line: string) => void; stop: () => void } {
  const began = Date.now();
  let last = what;
  let saidMs = began;
  const timer = setInterval(() => {
    if (Date.now() - saidMs < 5000) return;
    saidMs = Date.now();
    say(`  ${last} … ${Math.round((saidMs - began) / 1000)} s`);
  }, 1000);
  timer.unref();
  return {
    report: (line) => {
      if (line === last) return;
      last = line;
      saidMs = Date.now();
      say(`  ${line}`);
    },
    stop: () => clearInterval(timer),
  };
}

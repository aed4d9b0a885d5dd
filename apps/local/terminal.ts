/** An error that the user can fix. Its message is printed without a stack. */
export class UserFacingError extends Error {}

/** Prints one line to the terminal. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/**
 * Prints the progress of a long step: each new line once, and every 5 s without a new line how long the step has taken. Call `stop` when the step has ended.
 */
export function startProgress(firstLine: string): { report: (line: string) => void; stop: () => void } {
  const began = Date.now();
  let last = firstLine;
  let printedMs = began;
  const timer = setInterval(() => {
    if (Date.now() - printedMs < 5000) return;
    printedMs = Date.now();
    print(`  ${last} … ${Math.round((printedMs - began) / 1000)} s`);
  }, 1000);
  timer.unref();
  return {
    report: (line) => {
      if (line === last) return;
      last = line;
      printedMs = Date.now();
      print(`  ${line}`);
    },
    stop: () => clearInterval(timer),
  };
}

/** Receives lines about the progress. */
export type Report = (line: string) => void;

/** How often a long step reports its progress, in milliseconds. */
const reportEveryMs = 2_000;

/** Returns a function that reports a line if the last one was long enough ago. */
export function createProgress(report: Report): (line: () => string) => void {
  let reportedAtMs = performance.now();
  return (line) => {
    if (performance.now() - reportedAtMs < reportEveryMs) return;
    reportedAtMs = performance.now();
    report(line());
  };
}

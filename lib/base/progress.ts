/** Receives lines about the progress. */
export type Report = (line: string) => void;

/** Returns a function that reports a line if the last one was `everyMs` milliseconds ago or more; the first one so long after the call. */
export function createProgress(report: Report, everyMs = 2_000): (line: () => string) => void {
  let reportedAtMs = performance.now();
  return (line) => {
    if (performance.now() - reportedAtMs < everyMs) return;
    reportedAtMs = performance.now();
    report(line());
  };
}

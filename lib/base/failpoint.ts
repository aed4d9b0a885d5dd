/** The names of the spots where a fault test may end a process (setting FAILPOINTS). */
export type Failpoint = 'after-invoke-write' | 'after-answer-write';

/** Ends this process at once, as SIGKILL does, when FAILPOINTS (comma-separated) holds `name`. Does nothing otherwise. */
export function failpoint(config: { readonly FAILPOINTS: string }, name: Failpoint): void {
  if (config.FAILPOINTS !== '' && config.FAILPOINTS.split(',').includes(name)) process.kill(process.pid, 'SIGKILL');
}

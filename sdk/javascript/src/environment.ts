/** A setting from the environment; undefined in browsers. */
export function readSetting(name: 'PARLANCE_TOKEN' | 'PARLANCE_URL'): string | undefined {
  const { process: node } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return node?.env?.[name] || undefined;
}

/** Reports something that no listener takes. */
export function report(kind: 'error' | 'warning', what: unknown): void {
  if (kind === 'error') console.error(what);
  else console.warn(what);
}

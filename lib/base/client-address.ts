/**
 * The client's address: the one that the outermost believed proxy saw. `forwarded` is the X-Forwarded-For header, `remote` the address connected from,
 * `trusted` how many proxies stand in front (TRUST_PROXY).
 */
export function clientAddress(forwarded: string | undefined, remote: string | undefined, trusted: number): string {
  const seen = (forwarded ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
  return (trusted > 0 && seen[Math.max(0, seen.length - trusted)]) || (remote ?? 'unknown');
}

/**
 * A fresh `Idempotency-Key`, or any other name that nothing else has: 128 random bits. Not `crypto.randomUUID`, which browsers keep from
 * pages on plain http.
 */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

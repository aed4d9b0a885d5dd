/**
 * Returns a new `Idempotency-Key` or other unique name: 128 random bits. `crypto.randomUUID` is not used, because browsers do not provide it to pages on
 * plain HTTP.
 */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Encrypts `text` under `key` with AES-256-GCM: base64url of nonce, tag, ciphertext. */
export function seal(key: Buffer, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
}

/** Undoes `seal`. Throws when the key is another or the text was changed. */
export function unseal(key: Buffer, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
}

/** SHA-256 of `text`, in hex. */
export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** Whether two texts are alike, in a time that does not tell where they differ. */
export const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());

/** A new secret: 32 random bytes as base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** The signature of a request to an endpoint: hex HMAC-SHA256 of the timestamp, a dot, and the body's bytes (spec, Authentication). */
export const signatureOf = (secret: string, timestamp: string, body: Buffer): string =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');

/** The token of interaction `id`: derived from the key, so that it stands in no store (quality 3). */
export const interactionTokenOf = (key: Buffer, id: string): string =>
  createHmac('sha256', key).update(`interaction:${id}`).digest('base64url');

const imageKeys = new WeakMap<Buffer, KeyObject>();

/** What shows that we made the path under which the image proxy serves `url`: 128 bits under a key derived from `key`; the same for ever. */
export function imageSignatureOf(key: Buffer, url: string): string {
  const derived = imageKeys.get(key) ?? createSecretKey(createHmac('sha256', key).update('images').digest());
  imageKeys.set(key, derived);
  return createHmac('sha256', derived).update(url).digest().subarray(0, 16).toString('base64url');
}

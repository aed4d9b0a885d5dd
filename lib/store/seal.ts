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
import type { Config } from '../../config/index.ts';

/** The settings that hold the keys. */
export type AppKeys = Pick<Config, 'APP_KEY' | 'APP_KEYS_OLD'>;

/** All keys that are valid for decryption and verification, the current one first. */
export const listKeys = ({ APP_KEY, APP_KEYS_OLD }: AppKeys): readonly Buffer[] => [APP_KEY, ...APP_KEYS_OLD];

/** The public id of a key: 22 characters of base64url that do not reveal the key. */
export const deriveKeyId = (key: Buffer): string =>
  createHmac('sha256', key).update('key id').digest().subarray(0, 16).toString('base64url');

/** Encrypts `text` under `key` with AES-256-GCM. The result is the key's id, a dot, and base64url of nonce, tag and ciphertext. */
export function seal(key: Buffer, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return `${deriveKeyId(key)}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
}

/** Decrypts a result of `seal` with the key that it names, or tries every key if it has no key id. Null when no key fits, or when the text was changed. */
export function unseal(keys: AppKeys, sealed: string): string | null {
  const dot = sealed.indexOf('.');
  const bytes = Buffer.from(sealed.slice(dot + 1), 'base64url');
  for (const key of listKeys(keys)) {
    if (dot >= 0 && deriveKeyId(key) !== sealed.slice(0, dot)) continue;
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
    } catch {
      // It is another key's, or was changed. Try the next key.
    }
  }
  return null;
}

/** SHA-256 of `text`, in hex. */
export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** Compares two texts in constant time, so that the duration does not reveal where they differ. */
export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());

/** A new secret: 32 random bytes as base64url. */
export const createSecret = (): string => randomBytes(32).toString('base64url');

/** The signature of a request to an endpoint: hex HMAC-SHA256 of the timestamp, a dot, and the body's bytes (docs/behavior/interactions.md#signatures). */
export const signRequest = (secret: string, timestamp: string, body: Buffer): string =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');

/** The token of interaction `id`. It is derived from the key, so it need not be stored. */
export const deriveInteractionToken = (key: Buffer, id: string): string =>
  createHmac('sha256', key).update(`interaction:${id}`).digest('base64url');

/** Whether `token` is the token of interaction `id` under the current key or an old one. Takes the same time for a right and a wrong token. */
export const isInteractionToken = (keys: AppKeys, id: string, token: string): boolean =>
  listKeys(keys)
    .map((key) => isSameSecret(token, deriveInteractionToken(key, id)))
    .includes(true);

const imageKeys = new WeakMap<Buffer, KeyObject>();

/**
 * The signature in the image proxy's path for `url`, which proves that Parlance created the path: 128 bits under a key derived from `key`. It never changes.
 */
export function signImageUrl(key: Buffer, url: string): string {
  const derived = imageKeys.get(key) ?? createSecretKey(createHmac('sha256', key).update('images').digest());
  imageKeys.set(key, derived);
  return createHmac('sha256', derived).update(url).digest().subarray(0, 16).toString('base64url');
}

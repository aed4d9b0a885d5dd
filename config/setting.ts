import { isIP } from 'node:net';
import { isRedisUrl } from './redis-address.ts';

/** The longest retention, in days. */
export const retentionDaysMax = 3_650;

/** One environment variable. `defaultText` is its default; without one it is required. `read` converts its text, or throws a short reason. */
export interface Setting<T> {
  description: string;
  defaultText: string | undefined;
  read: (text: string) => T;
}

/** Makes a setting. Without a default it is required. */
export const setting = <T>(description: string, defaultText: string | undefined, read: (text: string) => T): Setting<T> => ({
  description,
  defaultText,
  read,
});
/** Reads any text. */
export const text = (value: string): string => value;
/** Reads a whole number from `min` to `max`. */
export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  };
/** Reads a port; 0 is any free one. */
export const port = integer(0, 65_535);
/** Reads a number of days. */
export const days = integer(1, retentionDaysMax);
/** Reads an IP address. */
export const ipAddress = (value: string): string => {
  if (isIP(value) === 0) throw new Error('must be an IP address');
  return value;
};
/** Reads a URL with one of `schemes`, without a slash at the end; or nothing. */
export const url =
  (...schemes: string[]) =>
  (value: string): string => {
    if (value === '') return value;
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol))
      throw new Error(`must be a URL that begins with ${schemes.join(' or ')}//`);
    return value.replace(/\/$/, '');
  };
/** Reads the URL of an http or https origin: no path, query or login; or nothing. */
export const origin = (value: string): string => {
  const read = url('http:', 'https:')(value);
  if (read !== '' && new URL(read).href !== `${new URL(read).origin}/`)
    throw new Error('must be an origin, such as https://chat.example.org, without a path');
  return read;
};
/** Reads the address of MongoDB, by a pattern, because it can have several hosts, which `URL` does not accept. */
export const mongodbUrl = (value: string): string => {
  if (!/^mongodb(\+srv)?:\/\/[^\s/]+(\/\S*)?$/.test(value)) throw new Error('must be a URL that begins with mongodb:// or mongodb+srv://');
  return value;
};
/** Reads nothing as `whenEmpty`, and anything else by `read`. */
export const emptyAs =
  <T>(read: (text: string) => T, whenEmpty: T) =>
  (value: string): T =>
    value === '' ? whenEmpty : read(value);
/** Reads the address of a Redis or a Redis Cluster. */
export const redisUrl = (value: string): string => {
  if (!isRedisUrl(value))
    throw new Error('must be redis://host:port, or redis+cluster://host:port,host:port for a cluster (rediss: with TLS)');
  return value.replace(/\/$/, '');
};
/** Reads one of `values`. */
export const oneOf =
  <T extends string>(...values: T[]) =>
  (value: string): T => {
    const match = values.find((one) => one === value);
    if (match === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return match;
  };
/** Reads a key: 32 bytes in base64. */
export const appKey = (value: string): Buffer => {
  const key = Buffer.from(value, 'base64');
  if (key.length !== 32) throw new Error('must be 32 random bytes in base64, as `openssl rand -base64 32` prints them');
  return key;
};
/** Reads a comma-separated list of keys. */
export const appKeys = (value: string): readonly Buffer[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
    .map(appKey);
/** Reads a rate limit; `off` is null. */
export const rateLimit = (value: string): { perSecond: number; burst: number } | null => {
  if (value === 'off') return null;
  const [, rate, burst] = /^(\d{1,7})\/(\d{1,7})$/.exec(value) ?? [];
  if (!Number(rate) || !Number(burst)) throw new Error('must be `requests a second/burst`, such as 50/100, or off');
  return { perSecond: Number(rate), burst: Number(burst) };
};
/** Reads a comma-separated list of host:port pairs. */
export const hostPorts = (value: string): readonly string[] => {
  const list = value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
  if (list.some((item) => !/^[^\s/@]+:\d+$/.test(item) || !URL.canParse(`http://${item}`)))
    throw new Error('must be a comma-separated list of host:port');
  return list;
};

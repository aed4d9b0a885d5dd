import { webcrypto } from 'node:crypto';

/** A request as an endpoint receives it: its headers and the bytes of its body. */
export interface SignedRequest {
  headers: NodeJS.Dict<string | string[]>;
  bytes: Uint8Array;
}

const encoder = new TextEncoder();

/** Returns the value of a header, ignoring the case of its name. Null when there is none or more than one. */
function headerOf(headers: SignedRequest['headers'], wanted: string): string | null {
  const found = Object.entries(headers).filter(([name]) => name.toLowerCase() === wanted);
  const value = found.length === 1 ? found[0]?.[1] : null;
  return typeof value === 'string' ? value : null;
}

function bytesOfHex(hex: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[0-9a-f]{64}$/.test(hex)) return null;
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
}

/**
 * Whether a request is from the service, checked as docs/behavior/interactions.md#signatures says: HMAC-SHA256 of timestamp, dot and raw body, in lowercase
 * hex, at most 300 seconds away from `nowSecs`. It shares no code with the signer: Web Crypto computes and compares, in constant time.
 */
export async function isGenuine({ headers, bytes }: SignedRequest, secret: string, nowSecs: number): Promise<boolean> {
  const timestamp = headerOf(headers, 'x-service-timestamp') ?? '';
  const signature = bytesOfHex(headerOf(headers, 'x-service-signature') ?? '');
  if (!/^(0|[1-9]\d*)$/.test(timestamp) || !signature) return false;
  if (Math.abs(nowSecs - Number(timestamp)) > 300) return false;
  const key = await webcrypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const start = encoder.encode(`${timestamp}.`);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  return webcrypto.subtle.verify('HMAC', key, signature, signed);
}

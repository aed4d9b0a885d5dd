import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

const der = (tag: number, ...parts: readonly (Buffer | string)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
  const size = body.length < 128 ? [body.length] : body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const stamp = (at: Date): string => at.toISOString().replace(/[-:T]|\.\d+/g, '');
const utcTime = (at: Date): Buffer => der(0x17, stamp(at).slice(2));
const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')}\n-----END ${label}-----\n`;

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const dayMs = 86_400_000;

/** A self-signed certificate and its key in PEM form, for `node:tls`. A client that uses `cert` as its authority trusts it. */
export interface Certificate {
  key: string;
  cert: string;
}

/** Makes a certificate for `names` (host names and dotted IPv4 addresses), valid from `from` days to `days` days from now; both may be negative. */
export function makeCertificate(names: readonly string[], days = 1, from = -10): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, `test ${randomBytes(4).toString('hex')}`))));
  const alternatives = names.map((one) => (isIP(one) === 4 ? der(0x87, Buffer.from(one.split('.').map(Number))) : der(0x82, one)));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(utcTime(new Date(Date.now() + from * dayMs)), utcTime(new Date(Date.now() + days * dayMs))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('551d11'), der(0x04, sequence(...alternatives))))),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem('CERTIFICATE', sequence(body, ecdsaWithSha256, signature)),
  };
}

import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { generate } from 'selfsigned';

const dayMs = 86_400_000;

/** A self-signed certificate and its key in PEM form, for `node:tls`. A client that uses `cert` as its authority trusts it. */
export interface Certificate {
  key: string;
  cert: string;
}

/** Makes a certificate for `names` (host names and IP addresses), valid from `from` days to `days` days from now; both may be negative. */
export async function makeCertificate(names: readonly string[], days = 1, from = -10): Promise<Certificate> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: `test ${randomBytes(4).toString('hex')}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() + from * dayMs),
    notAfterDate: new Date(Date.now() + days * dayMs),
    extensions: [
      { name: 'subjectAltName', altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })) },
    ],
  });
  return { key, cert: `${cert.trim()}\n` };
}

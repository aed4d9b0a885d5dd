/** The headers of a request: those of Fetch, or of Node's http. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request to an Interactions Endpoint. */
export interface SignedRequest {
  headers: RequestHeaders;
  /** The exact bytes of the body, before parsing. */
  rawBody: Uint8Array | ArrayBuffer | string;
  /** The signing secret from the developer portal. */
  secret: string;
  /** The current time in Unix milliseconds, for tests. */
  now?: number;
}

/** How much the time of a request may differ, in seconds. */
const maxAgeSecs = 300;

function readHeader(headers: RequestHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : undefined;
}

const toBytes = (body: SignedRequest['rawBody']): Uint8Array =>
  typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);

/** Whether the service sent this request: its signature is right, and it is at most 5 minutes old. Compares in constant time. */
export async function verifyRequest({ headers, rawBody, secret, now = Date.now() }: SignedRequest): Promise<boolean> {
  const timestamp = readHeader(headers, 'x-service-timestamp') ?? '';
  const signature = readHeader(headers, 'x-service-signature') ?? '';
  if (!/^\d{1,12}$/.test(timestamp) || !/^[0-9a-f]{64}$/.test(signature)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > maxAgeSecs) return false;
  const [body, head] = [toBytes(rawBody), new TextEncoder().encode(`${timestamp}.`)];
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  const expected = Uint8Array.from(signature.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, ['verify']);
  return crypto.subtle.verify('HMAC', key, expected, signed);
}

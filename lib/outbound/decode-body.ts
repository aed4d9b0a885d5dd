import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { OutboundError } from './target.ts';

/** The most codings that one response may have, each over the one before. */
const maxCodings = 3;

/** Makes the decoder of a body that begins with the byte `first`. */
type CreateDecoder = (first: number) => Transform;

const decoders: Readonly<Record<string, CreateDecoder>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Servers send it with and, against the standard, without the header of zlib.
  deflate: (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
};

/** Decodes `source`. No bytes stay no bytes, although that is no valid stream of any coding. */
async function* decode(source: AsyncIterable<Buffer>, create: CreateDecoder): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const all = async function* (): AsyncGenerator<Buffer> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  const decoder = create(first.value[0] ?? 0);
  pipeline(all, decoder, () => undefined); // the reader of `decoder` gets its errors
  yield* decoder as AsyncIterable<Buffer>;
}

/**
 * The body of a response without its compression, as `contentEncoding` names it. Servers may compress although no compression was requested. Refuses an unknown
 * coding and too many. The caller bounds what it reads.
 */
export function decodeBody(body: Readable, contentEncoding: string | undefined): AsyncIterable<Buffer> {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > maxCodings) throw new OutboundError('body', `is compressed more than ${maxCodings} times`);
  let decoded: AsyncIterable<Buffer> = body;
  for (const coding of codings.reverse()) {
    const create = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (!create) throw new OutboundError('body', 'has a Content-Encoding other than gzip, deflate and br');
    decoded = decode(decoded, create);
  }
  return decoded;
}

import { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip, createInflate } from 'node:zlib';
import type { Context } from 'koa';
import { newRefusal, refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { cut } from '../../../lib/base/text.ts';
import { readDelivery } from '../../../lib/domain/webhooks/codehost/index.ts';
import type { Arrival } from '../../../lib/domain/webhooks/deliveries.ts';
import { hasBody } from './body.ts';
import { tooSlow } from './pace.ts';
import { createSlotPool, type Share } from './slot-pool.ts';
import { drain, feed } from './upload.ts';

/** The content type of a form. */
export const formType = 'application/x-www-form-urlencoded';

/**
 * The code hosts whose headers name an event, in the order in which they are read (docs/behavior/webhooks.md#delivery-requests). Gitea and Forgejo also send
 * the headers of the hosts that they are compatible with, with the same values.
 */
const hosts = ['GitHub', 'Gitea', 'Forgejo', 'Gogs'] as const;

const invalid = (reason: string): never => refuse('invalid_request', { reason });

/** The first header of this kind that is not empty, among those of the code hosts; an empty string if there is none. */
const headerOf = (ctx: Context, kind: 'Event' | 'Delivery'): string =>
  hosts.map((host) => ctx.get(`X-${host}-${kind}`).trim()).find((value) => value !== '') ?? '';

/**
 * Reads and decompresses a body. Refuses more than 5 MiB, compressed or not (413, as soon as the limit is passed), an encoding other than gzip and deflate
 * (400), invalid data (400), and a body that takes more than 30 s (408). Rejects when `slow` does.
 */
async function takeBytes(ctx: Context, slow: Promise<never>): Promise<Buffer> {
  const tooLarge = newRefusal('payload_too_large', { limit: '5 MiB' });
  if (Number(ctx.get('Content-Length') || 0) > limits.deliveryBytes) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const sink = new Writable({
    write(bytes: Buffer, _encoding, done) {
      size += bytes.length;
      if (size > limits.deliveryBytes) return fail(tooLarge); // `done` is not called, so the stream stops
      chunks.push(bytes);
      done();
    },
  });
  const unpack = unpackerOf(ctx.get('Content-Encoding').toLowerCase());
  const taken = (unpack ? pipeline(unpack, sink) : finished(sink)).catch(() => invalid('the body cannot be read'));
  taken.catch(fail);
  slow.catch(fail);
  const timer = setTimeout(() => fail(tooSlow()), limits.deliveryReadMs);
  try {
    await feed(ctx.req, unpack ?? sink, failed);
    await Promise.race([taken, failed]);
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
    unpack?.destroy();
    sink.destroy();
  }
}

function unpackerOf(coding: string) {
  if (coding === '' || coding === 'identity') return null;
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip();
  return coding === 'deflate' ? createInflate() : invalid('the body comes in a coding other than gzip and deflate');
}

/** The first field `payload` of a form. Only that field is decoded, because a form of 5 MiB may have millions of fields. */
function payloadOf(form: string): string {
  const start = form.startsWith('payload=') ? 0 : form.indexOf('&payload=') + 1;
  if (start === 0 && !form.startsWith('payload=')) return '';
  const end = form.indexOf('&', start);
  return new URLSearchParams(form.slice(start, end === -1 ? undefined : end)).get('payload') ?? '';
}

function parse(text: string): unknown {
  if (text.trim() === '') return invalid('there is no payload');
  try {
    return JSON.parse(text);
  } catch {
    return invalid('the payload is not valid JSON');
  }
}

/** Reads the body of a delivery. `slow` rejects when the body arrives too slowly. */
async function read(ctx: Context, event: string, type: string, slow: Promise<never>): Promise<Arrival> {
  const text = new TextDecoder().decode(await takeBytes(ctx, slow));
  const payload = parse(type === formType ? payloadOf(text) : text);
  const deliveryId = headerOf(ctx, 'Delivery');
  const named = deliveryId !== '' && deliveryId.length <= limits.deliveryIdChars;
  return { event, deliveryId: named ? deliveryId : null, reading: readDelivery(event, payload) };
}

/** Whose limits a delivery counts against: its webhook, the webhook's server, and the address that sent it. */
export interface DeliveryFrom {
  webhookId: string;
  serverId: string;
  address: string;
}

/** The limits that a delivery counts against while its body is read. */
const sharesOf = ({ webhookId, serverId, address }: DeliveryFrom): Share[] => [
  { key: `server:${serverId}`, most: limits.deliveriesReadPerServer, spare: 0 },
  { key: `webhook:${webhookId}`, most: limits.deliveriesReadPerWebhook, spare: 0 },
  { key: `address:${address}`, most: limits.deliveriesReadPerAddress, spare: 4 },
  { key: 'all', most: limits.deliveriesReadAtOnce, spare: 4 },
];

/** Reads a delivery of a code host from a request. */
export type TakeDelivery = (ctx: Context, from: DeliveryFrom) => Promise<Arrival>;

/**
 * Creates the reader of deliveries. A body is JSON, or a form with JSON in its field `payload`, of up to 5 MiB and any depth. At most 16 bodies are in memory
 * at once, at most 8 of a server, 4 of a webhook and 12 of an address; others wait unread. Refuses a delivery without an event header or without a payload
 * (400), a body that arrives too slowly (408) or is too large (413), another content type (415), and one that waits too long or with too many others (429). The
 * rest of a refused body is read and discarded, so that the sender sees the answer.
 */
export function createTakeDelivery(): TakeDelivery {
  const pool = createSlotPool({ waitMs: limits.deliveryWaitMs });
  return async (ctx, from) => {
    try {
      const event = cut(headerOf(ctx, 'Event'), limits.deliveryEventChars);
      if (event === '') return invalid(`no header says which event this is: ${hosts.map((host) => `X-${host}-Event`).join(', ')}`);
      if (!hasBody(ctx)) return invalid('there is no payload');
      const type = ctx.is('application/json', formType);
      if (!type) return refuse('unsupported_media_type', { expected: `application/json or ${formType}` });
      return await pool.run(ctx.req, sharesOf(from), (slow) => read(ctx, event, type, slow));
    } catch (error) {
      drain(ctx.req);
      throw error;
    }
  };
}

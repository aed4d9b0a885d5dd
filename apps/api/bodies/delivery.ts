import { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip, createInflate } from 'node:zlib';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { newRefusal, refuse } from '../../../lib/base/errors.ts';
import { formatMib, limits } from '../../../lib/base/limits.ts';
import { truncate } from '../../../lib/base/text.ts';
import { parseDelivery } from '../../../lib/domain/webhooks/codehost/index.ts';
import type { ReceivedDelivery } from '../../../lib/domain/webhooks/deliveries.ts';
import { hasBody } from './json.ts';
import { createTooSlowRefusal } from './pace.ts';
import type { BodyReader } from './reader.ts';
import type { SlotLimit } from './slot-pool.ts';
import { decodeText } from './text.ts';
import { discardBody, pipeBody } from './upload.ts';

/** The content type of a form. */
export const formContentType = 'application/x-www-form-urlencoded';

/**
 * The code hosts whose headers name an event, in the order in which they are read (docs/behavior/webhooks.md#delivery-requests). Gitea and Forgejo also send
 * the headers of the hosts that they are compatible with, with the same values.
 */
const hosts = ['GitHub', 'Gitea', 'Forgejo', 'Gogs'] as const;

const refuseInvalid = (reason: string): never => refuse('invalid_request', { reason });

/** The first header of this kind that is not empty, among those of the code hosts; an empty string if there is none. */
const findHeader = (ctx: Context, kind: 'Event' | 'Delivery'): string =>
  hosts.map((host) => ctx.get(`X-${host}-${kind}`).trim()).find((value) => value !== '') ?? '';

/**
 * Reads and decompresses a body. Refuses more than 5 MiB, compressed or not (413, as soon as the limit is passed), an encoding other than gzip and deflate
 * (400), invalid data (400), and a body that takes more than 30 s (408). Rejects when `paceFailed` does.
 */
async function readBytes(ctx: Context, paceFailed: Promise<never>): Promise<Buffer> {
  const tooLarge = newRefusal('payload_too_large', { limit: formatMib(limits.deliveryBytes) });
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
  const decompressor = createDecompressor(ctx.get('Content-Encoding').toLowerCase());
  const received = (decompressor ? pipeline(decompressor, sink) : finished(sink)).catch(() => refuseInvalid('the body cannot be read'));
  received.catch(fail);
  paceFailed.catch(fail);
  const timer = setTimeout(() => fail(createTooSlowRefusal()), limits.deliveryReadMs);
  try {
    await pipeBody(ctx.req, decompressor ?? sink, failed);
    await Promise.race([received, failed]);
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
    decompressor?.destroy();
    sink.destroy();
  }
}

function createDecompressor(encoding: string) {
  if (encoding === '' || encoding === 'identity') return null;
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  return encoding === 'deflate' ? createInflate() : refuseInvalid('the Content-Encoding must be gzip or deflate');
}

/** The first field `payload` of a form. Only that field is decoded, because a form of 5 MiB may have millions of fields. */
function readFormPayload(form: string): string {
  const start = form.startsWith('payload=') ? 0 : form.indexOf('&payload=') + 1;
  if (start === 0 && !form.startsWith('payload=')) return '';
  const end = form.indexOf('&', start);
  const value = form.slice(form.indexOf('=', start) + 1, end === -1 ? undefined : end).replaceAll('+', ' ');
  try {
    return decodeURIComponent(value);
  } catch {
    return refuseInvalid('the payload is not valid text in utf-8');
  }
}

function parsePayload(text: string): unknown {
  if (text.trim() === '') return refuseInvalid('the payload is missing');
  try {
    return JSON.parse(text);
  } catch {
    return refuseInvalid('the payload is not valid JSON');
  }
}

/** Reads the body of a delivery. `paceFailed` rejects when the body arrives too slowly. */
async function readArrival(ctx: Context, event: string, type: string, paceFailed: Promise<never>): Promise<ReceivedDelivery> {
  const text = decodeText(await readBytes(ctx, paceFailed), ctx.request.charset, 'the body');
  const payload = parsePayload(type === formContentType ? readFormPayload(text) : text);
  const deliveryId = findHeader(ctx, 'Delivery');
  const hasId = deliveryId !== '' && deliveryId.length <= limits.deliveryIdChars;
  return { event, deliveryId: hasId ? deliveryId : null, parsed: parseDelivery(event, payload) };
}

/** The limits that a delivery counts against while its body is read: its webhook's, those of the webhook's server, and of the address that sent it. */
const toSlotLimits = (webhookId: string, serverId: string, address: string): SlotLimit[] => [
  { key: `server:${serverId}`, max: limits.deliveriesReadPerServer, reserved: 0 },
  { key: `webhook:${webhookId}`, max: limits.deliveriesReadPerWebhook, reserved: 0 },
  { key: `address:${address}`, max: limits.deliveriesReadPerAddress, reserved: 4 },
  { key: 'all', max: limits.deliveriesReadAtOnce, reserved: 4 },
];

const schema = Type.Unknown({
  description: `The payload as the code host sends it, up to ${formatMib(limits.deliveryBytes)}. A form holds it in its field \`payload\`.`,
});

/**
 * The body is a delivery of a code host: JSON, or a form with JSON in its field `payload`, of up to 5 MiB and any depth. At most 16 bodies are in memory at once,
 * at most 8 of a server, 4 of a webhook and 12 of an address; others wait unread. Refuses a delivery without an event header or without a payload (400), a body
 * that arrives too slowly (408) or is too large (413), another content type (415), and one that waits too long or with too many others (429). The rest of a
 * refused body is read and discarded, so that the sender sees the answer. The route's `checkPath` must return the webhook's server.
 */
export const delivery = (): BodyReader<ReceivedDelivery, { webhookId: string }> => ({
  kind: 'delivery',
  schema,
  isOptional: false,
  isCountedBySize: () => false,
  read: async ({ ctx, slots, params: { webhookId }, address, pathServerId }) => {
    try {
      const event = truncate(findHeader(ctx, 'Event'), limits.deliveryEventChars);
      if (event === '')
        return refuseInvalid(`a header that names the event is missing: one of ${hosts.map((host) => `X-${host}-Event`).join(', ')}`);
      if (!hasBody(ctx)) return refuseInvalid('the payload is missing');
      const type = ctx.is('application/json', formContentType);
      if (!type) return refuse('unsupported_media_type', { expected: `application/json or ${formContentType}` });
      const value = await slots.deliveries.run(ctx.req, toSlotLimits(webhookId, pathServerId ?? '', address), (paceFailed) =>
        readArrival(ctx, event, type, paceFailed),
      );
      return { value, fingerprint: value, paths: [] };
    } catch (error) {
      discardBody(ctx.req);
      throw error;
    }
  },
});

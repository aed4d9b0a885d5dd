import { type ClientRequest, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { startTestApi } from '../../harness/api.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { inParallel, send } from '../../harness/requests.ts';
import { ownerOf, seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

const multipart = 'multipart/form-data; boundary=xyz';
const part = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n';
const smallUpload = `${part}x\r\n--xyz--\r\n`;
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

interface SlowAnswer {
  status: number;
  code: string;
  retryAfter: string | undefined;
  connection: string | undefined;
}

interface RequestOptions {
  path: string;
  method?: string;
  as?: string;
  type?: string;
  from?: string;
  /** The part of the body that is sent at once. */
  start?: string;
  /** The length of the whole body. */
  length?: number;
}

describe('slow bodies', () => {
  const api = use(() => startTestApi({ TRUST_PROXY: '1' }));
  const begun: ClientRequest[] = [];
  afterEach(() => {
    for (const sent of begun.splice(0)) sent.destroy();
  });

  const connections = (): number => begun.filter(({ socket }) => socket && !socket.closed).length;

  /** Starts a request. Its body stays incomplete unless `start` has `length` bytes. */
  const begin = ({ path, method = 'POST', as, type = 'application/json', from = '192.0.2.1', start, length = 5_000 }: RequestOptions) => {
    const headers = {
      'Content-Type': type,
      'Content-Length': length,
      'X-Forwarded-For': from,
      'X-GitHub-Event': 'issues',
      ...(as ? { Authorization: as } : {}),
    };
    const sent = request(api.url + path, { method, headers, agent: false });
    let answered = false;
    const answer = new Promise<SlowAnswer | null>((resolve) => {
      sent.on('error', () => resolve(null));
      sent.on('response', (response) => {
        answered = true;
        const { statusCode: status = 0 } = response;
        void readText(response).then((text) => {
          const { code = '' } = text ? (JSON.parse(text) as { code?: string }) : {};
          resolve({ status, code, retryAfter: response.headers['retry-after'], connection: response.headers.connection });
        });
      });
    });
    sent.flushHeaders();
    if (start !== undefined) sent.write(start);
    begun.push(sent);
    return { sent, answer, isAnswered: () => answered };
  };
  const sendWhole = (options: RequestOptions & { start: string }): Promise<SlowAnswer | null> =>
    begin({ ...options, length: Buffer.byteLength(options.start) }).answer;
  const statusOf = async (answer: Promise<SlowAnswer | null>): Promise<number | undefined> => (await answer)?.status;

  /** Seeds a server with `count` webhooks; returns the paths of their code-host routes. */
  const hooksOf = async (count: number): Promise<string[]> => {
    const seeded = await seedServer(api.platform, { bots: 0, channels: 1 });
    const path = `/api/channels/${seeded.channelIds[0]}/webhooks`;
    const made = await inParallel(count, () => send<NewWebhook>(api, 201, ownerOf(seeded), 'POST', path, { name: 'x' }));
    return made.map(({ id, token }) => `/api/webhooks/${id}/${token}/codehost`);
  };
  const delivery = '{"zen":"x"}';

  it('408 body_too_slow and a closed connection for no byte, one byte and a few bytes a second', async () => {
    const seeded = await seedServer(api.platform, { bots: 1, channels: 1 });
    const [hook = ''] = await hooksOf(1);
    const messages = `/api/channels/${seeded.channelIds[0]}/messages`;
    const bot = `Bot ${seeded.bots[0]?.token}`;
    const kinds: RequestOptions[] = [
      { path: hook },
      { path: messages, as: bot },
      { path: messages, as: bot, type: multipart },
      { path: '/api/users/@me/avatar', method: 'PUT', as: `Bearer ${seeded.ownerToken}`, type: 'image/png' },
    ];
    const slow = kinds.flatMap((kind) => [begin(kind), begin({ ...kind, start: '{' }), begin({ ...kind, start: part })]);
    const trickle = setInterval(() => {
      for (const { sent } of slow.filter((_, n) => n % 3 === 2)) if (!sent.destroyed) sent.write('x');
    }, 500);
    const answers = await Promise.all(slow.map(({ answer }) => answer));
    clearInterval(trickle);
    expect(answers).to.deep.equal(slow.map(() => ({ status: 408, code: 'body_too_slow', retryAfter: '1', connection: 'close' })));
  });

  it('many slow deliveries to one server leave slots to others, also from the same address; requests without a body take none', async () => {
    const hooks = await hooksOf(12);
    const slow = range(48).map((n) => begin({ path: hooks[n % 12] as string, start: '{' }));
    const silent = range(48).map((n) => begin({ path: hooks[n % 12] as string }));
    await waitUntil(() => connections() === 96, 'all connections');
    const [one = '', two = ''] = [...(await hooksOf(1)), ...(await hooksOf(1))];
    expect(await statusOf(sendWhole({ path: one, start: delivery, from: '192.0.2.2' }))).to.equal(204);
    expect(await statusOf(sendWhole({ path: two, start: delivery }))).to.equal(204);
    expect([...slow, ...silent].filter(({ isAnswered }) => isAnswered()).length).to.equal(0);
  });

  it('when slow deliveries of many servers hold all slots, a server without a slot gets one of them', async () => {
    const hooks = await Promise.all(range(limits.deliveriesReadAtOnce).map(() => hooksOf(1)));
    const slow = hooks.map(([path = ''], n) => begin({ path, start: '{', from: `192.0.2.${10 + (n % 4)}` }));
    const [hook = ''] = await hooksOf(1);
    expect(await statusOf(sendWhole({ path: hook, start: delivery }))).to.equal(204);
    expect(slow.filter(({ isAnswered }) => isAnswered()).length).to.be.lessThan(2);
  });

  describe('uploads', () => {
    const seeded = make(() => seedServer(api.platform, { bots: 40, channels: 1 }));
    const uploadBy = (bot: number, more: Partial<RequestOptions> = {}): RequestOptions => ({
      path: `/api/channels/${seeded.channelIds[0]}/messages`,
      as: `Bot ${seeded.bots[bot]?.token}`,
      type: multipart,
      start: part,
      ...more,
    });

    it('four accounts with ten slow uploads each leave slots to a fifth, also from the same address', async () => {
      for (const n of range(40)) begin(uploadBy(n % 4, { from: `192.0.2.${n % 2}` }));
      await waitUntil(() => connections() === 40, 'all connections');
      for (const from of ['192.0.2.1', '192.0.2.9'])
        expect(await statusOf(sendWhole({ ...uploadBy(5, { from }), start: smallUpload }))).to.equal(201);
    });

    it('when slow uploads of many accounts hold all slots, an account without a slot gets one of them', async () => {
      const slow = range(limits.uploadsAtOnce).map((n) => begin(uploadBy(n, { from: `192.0.2.${n % 4}` })));
      await waitUntil(() => connections() === slow.length, 'all connections');
      expect(await statusOf(sendWhole({ ...uploadBy(39, { from: '192.0.2.9' }), start: smallUpload }))).to.equal(201);
      const answers = slow.filter(({ isAnswered }) => isAnswered());
      expect(answers.length).to.be.lessThan(2);
    });

    it('429 for the eleventh upload at once of one account; a disconnected sender releases its slot', async () => {
      const slow = range(limits.uploadsPerCaller).map(() => begin(uploadBy(0)));
      // The eleventh waits for a slot.
      const eleventh = begin({ ...uploadBy(0), start: smallUpload, length: smallUpload.length });
      await waitUntil(() => connections() === 11, 'all connections');
      slow[0]?.sent.destroy();
      expect(await statusOf(eleventh.answer)).to.equal(201);
      begin(uploadBy(0));
      const refused = await sendWhole({ ...uploadBy(0), start: smallUpload });
      expect([refused?.status, refused?.code, refused?.retryAfter]).to.deep.equal([429, 'rate_limited', '1']);
    });
  });
});

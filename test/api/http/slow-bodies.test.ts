import { type ClientRequest, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { until } from '../../harness/scene.ts';
import { makeWorld, type World } from '../../harness/world.ts';

const multipart = 'multipart/form-data; boundary=xyz';
const part = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n';
const smallUpload = `${part}x\r\n--xyz--\r\n`;
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

interface Answered {
  status: number;
  code: string;
  retryAfter: string | undefined;
  connection: string | undefined;
}

describe('bodies that come slowly', () => {
  let api: TestApi;
  const begun: Sending[] = [];
  before(async () => {
    api = await startTestApi({ TRUST_PROXY: '1' });
  });
  afterEach(() => {
    for (const { sent } of begun.splice(0)) sent.destroy();
  });
  after(() => api.close());

  const connections = (): number => begun.filter(({ sent }) => sent.socket && !sent.socket.closed).length;

  interface Sending {
    sent: ClientRequest;
    answer: Promise<Answered | null>;
    isAnswered: () => boolean;
  }
  interface What {
    path: string;
    method?: string;
    as?: string;
    type?: string;
    from?: string;
    /** What is sent of the body; undefined: nothing. */
    begin?: string;
    /** Its whole length. */
    length?: number;
  }
  /** Begins a request whose body stays unfinished unless `length` says otherwise. */
  const begin = ({
    path,
    method = 'POST',
    as,
    type = 'application/json',
    from = '192.0.2.1',
    begin: first,
    length = 5_000,
  }: What): Sending => {
    const headers = {
      'Content-Type': type,
      'Content-Length': length,
      'X-Forwarded-For': from,
      'X-GitHub-Event': 'issues',
      ...(as ? { Authorization: as } : {}),
    };
    const sent = request(api.url + path, { method, headers, agent: false });
    let answered = false;
    const answer = new Promise<Answered | null>((resolve) => {
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
    if (first !== undefined) sent.write(first);
    const sending = { sent, answer, isAnswered: () => answered };
    begun.push(sending);
    return sending;
  };
  const whole = (what: What & { begin: string }): Promise<Answered | null> =>
    begin({ ...what, length: Buffer.byteLength(what.begin) }).answer;
  const statusOf = async (answer: Promise<Answered | null>): Promise<number | undefined> => (await answer)?.status;

  /** A server with so many webhooks; answers the paths of their code-host routes. */
  const hooksOf = async (count: number): Promise<string[]> => {
    const world = await makeWorld(api.platform, { bots: 0, channels: 1 });
    const path = `/api/channels/${world.channelIds[0]}/webhooks`;
    const made = await Promise.all(
      range(count).map(() =>
        api.call<{ id: string; token: string }>('POST', path, { as: `Bearer ${world.ownerToken}`, body: { name: 'x' } }),
      ),
    );
    return made.map(({ body }) => `/api/webhooks/${body.id}/${body.token}/codehost`);
  };
  const delivery = '{"zen":"x"}';

  it('408 body_too_slow and a closed connection: no first byte, one byte, a few bytes a second', async () => {
    const world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    const [hook = ''] = await hooksOf(1);
    const messages = `/api/channels/${world.channelIds[0]}/messages`;
    const bot = `Bot ${world.bots[0]?.token}`;
    const kinds: What[] = [
      { path: hook },
      { path: messages, as: bot },
      { path: messages, as: bot, type: multipart },
      { path: '/api/users/@me/avatar', method: 'PUT', as: `Bearer ${world.ownerToken}`, type: 'image/png' },
    ];
    const slow = kinds.flatMap((kind) => [begin(kind), begin({ ...kind, begin: '{' }), begin({ ...kind, begin: part })]);
    const trickle = setInterval(() => {
      for (const { sent } of slow.filter((_, n) => n % 3 === 2)) if (!sent.destroyed) sent.write('x');
    }, 500);
    const answers = await Promise.all(slow.map(({ answer }) => answer));
    clearInterval(trickle);
    expect(answers).to.deep.equal(slow.map(() => ({ status: 408, code: 'body_too_slow', retryAfter: '1', connection: 'close' })));
  });

  it('a server that sends many slow deliveries leaves slots to others, from its address too; headers without a body take none', async () => {
    const hooks = await hooksOf(12);
    const slow = range(48).map((n) => begin({ path: hooks[n % 12] as string, begin: '{' }));
    const silent = range(48).map((n) => begin({ path: hooks[n % 12] as string }));
    await until(() => connections() === 96, 'all have begun');
    const [one = '', two = ''] = [...(await hooksOf(1)), ...(await hooksOf(1))];
    expect(await statusOf(whole({ path: one, begin: delivery, from: '192.0.2.2' }))).to.equal(204);
    expect(await statusOf(whole({ path: two, begin: delivery }))).to.equal(204);
    expect([...slow, ...silent].filter(({ isAnswered }) => isAnswered()).length).to.equal(0);
  });

  it('when slow deliveries of many servers hold all slots, one of them gives its slot up to a server that holds none', async () => {
    const hooks = await Promise.all(range(limits.deliveriesReadAtOnce).map(() => hooksOf(1)));
    const slow = hooks.map(([path = ''], n) => begin({ path, begin: '{', from: `192.0.2.${10 + (n % 4)}` }));
    const [victim = ''] = await hooksOf(1);
    expect(await statusOf(whole({ path: victim, begin: delivery }))).to.equal(204);
    expect(slow.filter(({ isAnswered }) => isAnswered()).length).to.be.lessThan(2);
  });

  describe('uploads', () => {
    let world: World;
    let uploadBy: (bot: number, more?: Partial<What>) => What;
    before(async () => {
      world = await makeWorld(api.platform, { bots: 40, channels: 1 });
      uploadBy = (bot, more = {}) => ({
        path: `/api/channels/${world.channelIds[0]}/messages`,
        as: `Bot ${world.bots[bot]?.token}`,
        type: multipart,
        begin: part,
        ...more,
      });
    });

    it('four accounts with ten slow uploads each leave slots to a fifth, at their address too', async () => {
      for (const n of range(40)) begin(uploadBy(n % 4, { from: `192.0.2.${n % 2}` }));
      await until(() => connections() === 40, 'all have begun');
      for (const from of ['192.0.2.1', '192.0.2.9'])
        expect(await statusOf(whole({ ...uploadBy(5, { from }), begin: smallUpload }))).to.equal(201);
    });

    it('when slow uploads of many accounts hold all slots, one of them gives its slot up to an account that holds none', async () => {
      const slow = range(limits.uploadsAtOnce).map((n) => begin(uploadBy(n, { from: `192.0.2.${n % 4}` })));
      await until(() => connections() === slow.length, 'all have begun');
      expect(await statusOf(whole({ ...uploadBy(39, { from: '192.0.2.9' }), begin: smallUpload }))).to.equal(201);
      const answers = slow.filter(({ isAnswered }) => isAnswered());
      expect(answers.length).to.be.lessThan(2);
    });

    it('429 for the eleventh at once of one account, and a sender that leaves frees its slot', async () => {
      const slow = range(limits.uploadsPerCaller).map(() => begin(uploadBy(0)));
      // A slow sender that is honest: the eleventh waits for a slot.
      const eleventh = begin({ ...uploadBy(0), begin: smallUpload, length: smallUpload.length });
      await until(() => connections() === 11, 'all have begun');
      slow[0]?.sent.destroy();
      expect(await statusOf(eleventh.answer)).to.equal(201);
      begin(uploadBy(0));
      const refused = await whole({ ...uploadBy(0), begin: smallUpload });
      expect([refused?.status, refused?.code, refused?.retryAfter]).to.deep.equal([429, 'rate_limited', '1']);
    });
  });
});

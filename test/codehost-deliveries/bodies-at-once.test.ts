import { type ClientRequest, request } from 'node:http';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { type Hook, issue, range, type Scene, startDeliveries } from './fixture.ts';

const { deliveriesReadPerWebhook: perWebhook, deliveriesReadPerServer: perServer } = limits;
const body = JSON.stringify(issue(1));

describe('bodies of deliveries that are slow to come', () => {
  let scene: Scene;
  let hook: Hook;
  before(async () => {
    scene = await startDeliveries(20);
  });
  after(() => scene.close());
  beforeEach(async () => {
    hook = await scene.make();
  });

  interface Slow {
    sent: ClientRequest;
    status: Promise<number | null>;
  }
  /** Begins a delivery whose body stops before its last character. */
  const begin = ({ path }: Hook): Slow => {
    const headers = { 'X-GitHub-Event': 'issues', 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const sent = request(scene.api.url + path, { method: 'POST', headers });
    const status = new Promise<number | null>((resolve) => {
      sent.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? null);
      });
      sent.on('error', () => resolve(null));
    });
    sent.write(body.slice(0, -1));
    return { sent, status };
  };
  /** Lets what was begun before come in: other requests are answered one after another. */
  const others = async (): Promise<void> => {
    for (let n = 0; n < 6; n++) await hook.log();
  };
  const whole = (one: Hook): { done: () => boolean; status: Promise<number> } => {
    let done = false;
    const status = one.deliver(body).then((answer) => {
      done = true;
      return answer.status;
    });
    return { done: () => done, status };
  };

  it('only some of one webhook are read at once; the next waits its turn and is not refused, those of others do not wait', async () => {
    const slow = range(1, perWebhook).map(() => begin(hook));
    await others();
    const next = whole(hook);
    const other = await scene.make();
    expect((await other.deliver(body)).status).to.equal(202);
    await others();
    expect(next.done()).to.equal(false);
    slow[0]?.sent.end(body.at(-1));
    expect(await slow[0]?.status).to.equal(202);
    expect(await next.status).to.equal(202);
    for (const { sent } of slow) sent.end(body.at(-1));
    expect(await Promise.all(slow.map(({ status }) => status))).to.deep.equal(range(1, perWebhook).map(() => 202));
  });

  it('only some of one server are read at once; one whose sender leaves gives its place to the next', async () => {
    const hooks = await Promise.all(range(1, perServer / perWebhook).map(() => scene.make()));
    const slow = hooks.flatMap((one) => range(1, perWebhook).map(() => begin(one)));
    await others();
    const next = whole(hook);
    await others();
    expect(next.done()).to.equal(false);
    slow[0]?.sent.destroy();
    expect(await next.status).to.equal(202);
    for (const { sent } of slow.slice(1)) sent.end(body.at(-1));
    expect(await Promise.all(slow.slice(1).map(({ status }) => status))).to.deep.equal(range(2, perServer).map(() => 202));
  });
});

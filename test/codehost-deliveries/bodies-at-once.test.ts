import { type ClientRequest, request } from 'node:http';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { type Hook, issue, range, useDeliveries } from './fixture.ts';

const { deliveriesReadPerWebhook: perWebhook, deliveriesReadPerServer: perServer } = limits;
const body = JSON.stringify(issue(1));

describe('Code host deliveries: slow bodies', () => {
  const { fixture, hook } = useDeliveries(20);

  interface SlowDelivery {
    sent: ClientRequest;
    status: Promise<number | null>;
  }
  /** Starts a delivery and sends its body except for the last character. */
  const startSlow = ({ path }: Hook): SlowDelivery => {
    const headers = { 'X-GitHub-Event': 'issues', 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const sent = request(fixture.api.url + path, { method: 'POST', headers });
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
  /** Gives the requests started before time to arrive, by sending other requests one after another. */
  const letArrive = async (): Promise<void> => {
    for (let n = 0; n < 6; n++) await hook.log();
  };
  const deliverWhole = (one: Hook): { done: () => boolean; status: Promise<number> } => {
    let done = false;
    const status = one.deliver(body).then((answer) => {
      done = true;
      return answer.status;
    });
    return { done: () => done, status };
  };

  it('limits the bodies read at once per webhook: the next one waits and is not refused, other webhooks do not wait', async () => {
    const slow = range(1, perWebhook).map(() => startSlow(hook));
    await letArrive();
    const next = deliverWhole(hook);
    const other = await fixture.createHook();
    expect((await other.deliver(body)).status).to.equal(202);
    await letArrive();
    expect(next.done()).to.equal(false);
    slow[0]?.sent.end(body.at(-1));
    expect(await slow[0]?.status).to.equal(202);
    expect(await next.status).to.equal(202);
    for (const { sent } of slow) sent.end(body.at(-1));
    expect(await Promise.all(slow.map(({ status }) => status))).to.deep.equal(range(1, perWebhook).map(() => 202));
  });

  it('limits the bodies read at once per server: a sender that disconnects frees its slot for the next', async () => {
    const hooks = await Promise.all(range(1, perServer / perWebhook).map(() => fixture.createHook()));
    const slow = hooks.flatMap((one) => range(1, perWebhook).map(() => startSlow(one)));
    await letArrive();
    const next = deliverWhole(hook);
    await letArrive();
    expect(next.done()).to.equal(false);
    slow[0]?.sent.destroy();
    expect(await next.status).to.equal(202);
    for (const { sent } of slow.slice(1)) sent.end(body.at(-1));
    expect(await Promise.all(slow.slice(1).map(({ status }) => status))).to.deep.equal(range(2, perServer).map(() => 202));
  });
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { startApi } from '../../../apps/api/listen.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import { startTestApi } from '../../harness/api.ts';
import { use } from '../../harness/use.ts';

/** Whether something on this machine listens on the port of an address. All of 127.0.0.0/8 are addresses of this machine, on Linux. */
async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('HOST', () => {
  const api = use(() => startTestApi());

  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  it('the API listens on 127.0.0.1 only', async () => {
    const port = Number(new URL(api.url).port);
    expect([await accepts('127.0.0.1', port), await accepts('127.0.0.2', port)]).to.deep.equal([true, false]);
  });

  it('with HOST=0.0.0.0 the API listens on all addresses', async () => {
    const { platform } = api;
    const open = await startApi({ ...platform, config: { ...platform.config, HOST: '0.0.0.0' } }, createMetrics('api'));
    try {
      expect([await accepts('127.0.0.1', open.port), await accepts('127.0.0.2', open.port)]).to.deep.equal([true, true]);
    } finally {
      await open.close();
    }
  });
});

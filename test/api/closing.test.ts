import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { startTestApi } from '../harness/api.ts';

describe('an API that closes', () => {
  it('does not wait for connections that brought no request, as browsers open them ahead of need', async () => {
    const api = await startTestApi();
    const { port, hostname } = new URL(api.url);
    const unused = connect(Number(port), hostname);
    await once(unused, 'connect');
    expect((await api.call('GET', '/api/gateway')).status).to.equal(200);
    await Promise.all([once(unused, 'close'), api.close()]);
  });
});

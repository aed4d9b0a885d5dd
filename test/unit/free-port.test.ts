import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';

describe('freePort', () => {
  it('passes over a port that another process has reserved', async () => {
    const reserved = (await freePort()) + 1;
    const other = createSocket('udp4').once('error', () => undefined); // another process may really have it
    other.bind(reserved, '127.0.0.1');
    await Promise.race([once(other, 'listening'), once(other, 'error')]);
    const port = await freePort();
    other.close();
    expect(port).not.to.equal(reserved);
  });
});

import '../harness/offline.ts';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';

describe('the network outside', () => {
  const refused = /may not connect to example\.invalid/;

  it('is off for fetch', async () => {
    const fault = await fetch('http://example.invalid/').then(
      () => null,
      (error: Error) => error,
    );
    expect((fault?.cause as Error | undefined)?.message).to.match(refused);
  });

  it('is off for node:http', async () => {
    const [fault] = await once(request('http://example.invalid/').end(), 'error').catch((error: unknown) => [error]);
    expect((fault as Error).message).to.match(refused);
  });

  it('is off for sockets', async () => {
    const fault = await once(connect(80, 'example.invalid'), 'connect').catch((error: unknown) => error);
    expect((fault as Error).message).to.match(refused);
  });

  it('is off for name servers', async () => {
    const resolver = new Resolver();
    resolver.setServers(['192.0.2.1']);
    for (const asked of [resolver.resolve4('example.invalid'), resolver.resolve6('example.invalid')])
      expect((await asked.catch((error: unknown) => error)) as Error).to.match(/may not ask for example\.invalid/);
  });
});

import '../harness/offline.ts';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';

describe('tests without network', () => {
  const refused = /may not connect to example\.invalid/;

  it('fetch cannot connect to another machine', async () => {
    const failure = await fetch('http://example.invalid/').then(
      () => null,
      (error: Error) => error,
    );
    expect((failure?.cause as Error | undefined)?.message).to.match(refused);
  });

  it('node:http cannot connect to another machine', async () => {
    const [failure] = await once(request('http://example.invalid/').end(), 'error').catch((error: unknown) => [error]);
    expect((failure as Error).message).to.match(refused);
  });

  it('sockets cannot connect to another machine', async () => {
    const failure = await once(connect(80, 'example.invalid'), 'connect').catch((error: unknown) => error);
    expect((failure as Error).message).to.match(refused);
  });

  it('resolvers cannot query name servers on another machine', async () => {
    const resolver = new Resolver();
    resolver.setServers(['192.0.2.1']);
    for (const query of [resolver.resolve4('example.invalid'), resolver.resolve6('example.invalid')])
      expect((await query.catch((error: unknown) => error)) as Error).to.match(/may not ask for example\.invalid/);
  });
});

import '../harness/offline.ts';
import { request } from 'node:http';
import { expect } from 'chai';

describe('the network outside', () => {
  it('is off for fetch', async () => {
    const fault = await fetch('http://example.invalid/').then(
      () => null,
      (error: Error) => error,
    );
    expect(`${fault?.message} ${(fault?.cause as Error | undefined)?.message}`).to.match(/Disallowed net connect/);
  });

  it('is off for node:http', async () => {
    const fault = await new Promise<Error>((resolve, reject) => {
      request('http://example.invalid/', () => reject(new Error('it answered')))
        .on('error', resolve)
        .end();
    });
    expect(fault.message).to.match(/Disallowed net connect/);
  });
});

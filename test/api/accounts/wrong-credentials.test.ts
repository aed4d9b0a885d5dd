import { expect } from 'chai';
import { newToken } from '../../../lib/domain/access/credentials.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { bucketOf, inParallel, tally } from '../../harness/requests.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

/** Addresses of the documentation range: each test uses its own. */
const addresses = Array.from({ length: 20 }, (_, at) => `198.51.100.${at + 1}`);

describe('wrong credentials', () => {
  // An address without a caller may send 4 requests at once and one more every 2.5 s.
  const api = use(() => startTestApi({ RATE_LIMIT: '1/10', TRUST_PROXY: '1' }));
  const seeded = make(() => seedServer(api.platform, { bots: 6, channels: 1 }));

  const list = (token: string, address: string): Promise<Answer> =>
    api.call('GET', `/api/channels/${seeded.channelIds[0]}/messages`, { as: `Bot ${token}`, headers: { 'X-Forwarded-For': address } });
  const tokenOf = (at: number): string => seeded.bots[at]?.token as string;
  const wrong = (at: number): string => `${tokenOf(at).split('.')[0]}.${'x'.repeat(43)}`;

  for (const [what, cached, address, at] of [
    ['a token that this process knows', true, addresses[0] as string, 0],
    ['a token that this process has not seen', false, addresses[1] as string, 1],
  ] as const)
    it(`40 guesses of ${what} are charged to the address’s bucket, not to the bot’s`, async () => {
      if (cached) expect((await list(tokenOf(at), '203.0.113.1')).status).to.equal(200);
      const guesses = await inParallel(40, () => list(wrong(at), address));
      expect(new Set(guesses.map(bucketOf))).to.deep.equal(new Set(['address']));
      expect(tally(guesses)[401]).to.be.within(4, 12);
      const own = await inParallel(cached ? 9 : 10, () => list(tokenOf(at), '203.0.113.1'));
      expect(tally(own)).to.deep.equal({ 200: cached ? 9 : 10 });
    });

  it('a token that was right before is accepted at an address whose bucket is empty, and charged to its account', async () => {
    const address = addresses[2] as string;
    await list(tokenOf(2), address);
    await inParallel(40, () => list(wrong(3), address));
    const answer = await list(tokenOf(2), address);
    expect(answer.status).to.equal(200);
    expect(bucketOf(answer)).to.equal('caller');
  });

  it('guesses from an address whose bucket is empty do not read the database', async () => {
    const address = addresses[3] as string;
    await inParallel(40, () => list(wrong(4), address));
    const { tokens } = api.platform.db;
    const read = tokens.findOne.bind(tokens);
    let reads = 0;
    tokens.findOne = ((...given: Parameters<typeof read>) => {
      reads++;
      return read(...given);
    }) as typeof tokens.findOne;
    try {
      expect(tally(await inParallel(20, () => list(wrong(4), address)))).to.deep.equal({ 429: 20 });
      expect(reads).to.equal(0);
    } finally {
      tokens.findOne = read;
    }
  });

  it('a token that another process has reset is accepted although the old one is cached, and the old one is refused', async () => {
    const { id, token: old } = seeded.bots[5] as SeededServer['bots'][number];
    const address = addresses[4] as string;
    expect((await list(old, address)).status).to.equal(200);
    const tokenId = old.split('.')[0] as string;
    const fresh = newToken(tokenId);
    await api.platform.accessVersions.runChange({ accounts: [id], credentials: true }, () =>
      api.platform.db.tokens.updateOne({ _id: tokenId }, { $set: { hash: fresh.hash } }),
    );
    expect((await list(fresh.token, address)).status).to.equal(200);
    expect((await list(old, address)).status).to.equal(401);
  });

  it('addresses of one IPv6 network of 64 bits share a bucket', async () => {
    const network = (at: number): string => `2001:db8:1:${at < 40 ? 1 : 2}:${at.toString(16)}::7`;
    const answers: Answer[] = [];
    for (let at = 0; at < 12; at++) answers.push(await list('none', network(at)));
    expect(tally(answers)[429]).to.be.within(4, 8);
    expect((await list('none', network(40))).status).to.equal(401);
  });
});

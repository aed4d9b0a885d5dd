import { expect } from 'chai';
import { signRequest } from '../../lib/store/seal.ts';
import { option } from '../api/interactions/command-fixture.ts';
import type { Received } from '../harness/endpoint.ts';
import { postWhole, useEndpointFixture } from '../harness/endpoint-fixture.ts';
import { isGenuine } from './verify.ts';

describe('X-Service-Signature', () => {
  // Made with `openssl dgst -sha256 -hmac` and Python's hmac.
  const vectors: readonly [what: string, secret: string, timestamp: string, body: Buffer, hex: string][] = [
    ['a ping', 'secret', '1700000000', Buffer.from('{"type":"ping"}'), '5a2a8f7d964e86f8fb6f3a65e439891e4154c53e76bca44002f5200ba270fdf6'],
    [
      'a body beyond ASCII',
      'kY3v_0-zQ',
      '1753142400',
      Buffer.from('{"content":"héllo 😀 \u2028 $answer \\"q\\""}'),
      'f1b91a4bb59e7933a6a2cef6ac61adddc3afe52ecfea069d3f82cdd1df564938',
    ],
    ['no body, and a secret beyond ASCII', 'é€', '0', Buffer.alloc(0), 'c40d5928c525d0811daa4d3ee602548e538bbd2eac590b23e7cb72fed7a86d5d'],
    [
      'every byte, and a secret longer than a block',
      'x'.repeat(100),
      '1',
      Buffer.from(Uint8Array.from({ length: 256 }, (_, at) => at)),
      '8062b66e4b65383b353b438dbfbe4b12154b854711def9b1af254d82b0760128',
    ],
  ];
  for (const [what, secret, timestamp, body, hex] of vectors)
    it(`of ${what}: signer and verifier agree with a known value`, async () => {
      expect(signRequest(secret, timestamp, body)).to.equal(hex);
      const headers = { 'X-Service-Timestamp': timestamp, 'X-SERVICE-SIGNATURE': hex };
      expect(await isGenuine({ headers, bytes: body }, secret, Number(timestamp))).to.equal(true);
      expect(await isGenuine({ headers, bytes: Buffer.concat([body, Buffer.from(' ')]) }, secret, Number(timestamp))).to.equal(false);
    });
});

describe('Interactions Endpoint: requests', () => {
  const { endpointFixture, fixture } = useEndpointFixture();
  let secret: string;
  before(async () => {
    await fixture.register([
      { name: 'say', description: 'x', options: [option('text', 'string'), option('count', 'integer'), option('loud', 'boolean')] },
    ]);
    await fixture.api.platform.db.accounts.updateOne({ _id: fixture.seeded.ownerId }, { $set: { displayName: 'Zoë “😀” \u2028 "$name"' } });
    secret = (await fixture.api.call<{ signingSecret: string }>('GET', path(), { as: fixture.asPerson })).body.signingSecret;
  });

  const path = (): string => `/api/applications/${fixture.bot.applicationId}`;
  const latest = (): Received => endpointFixture.endpoint.received.at(-1) ?? expect.fail('nothing was received');
  const say = async (text?: string): Promise<string> => {
    const id = await fixture.use({ command: 'say', body: { options: text === undefined ? [] : [{ name: 'text', value: text }] } });
    await endpointFixture.post(id);
    return id;
  };
  const timeOf = ({ headers }: Received): number => Number(headers['x-service-timestamp']);

  const texts: readonly [what: string, text: string, sent?: string][] = [
    ['plain text', 'hello'],
    ['emoji', '👩‍👩‍👧‍👦🏳️‍🌈😀'],
    ['line and paragraph separators', 'a\u2028b\u2029c\u0085d'],
    ['quotes, slashes and line breaks', '"\\/\r\n\t\b\u0000\''],
    ['expressions', '$answer $$NOW ${x} {{y}} %s'],
    ['a byte order mark and a zero width joiner', '\ufeff\u200d'],
    ['half a surrogate pair', 'a\ud83d b', 'a\ufffd b'],
    ['accents, composed and not', 'é e\u0301 ﬁ İ ß'],
    ['2000 characters of four bytes', '😀'.repeat(2000)],
    ['</script> and a signature of its own', `</script>${'0'.repeat(64)}.1700000000.`],
  ];
  for (const [what, text, sent = text] of texts)
    it(`${what}: the signature covers the exact bytes, and the value is as typed`, async () => {
      await say(text);
      const { bytes, json } = latest();
      expect(await isGenuine(latest(), secret, timeOf(latest()))).to.equal(true);
      expect((json.data as { options: unknown }).options).to.deep.equal([{ name: 'text', type: 'string', value: sent }]);
      expect(latest().headers['content-length']).to.equal(String(bytes.length));
      expect(latest().headers['content-type']).to.equal('application/json');
      const changed = Uint8Array.from(bytes);
      changed[0] = 0x20;
      expect(await isGenuine({ ...latest(), bytes: changed }, secret, timeOf(latest()))).to.equal(false);
    });

  it('the timestamp is in whole seconds and valid for 300 seconds', async () => {
    const nowMs = 1_800_000_000_999;
    await postWhole({ ...fixture.worker, now: () => nowMs }, await fixture.use({ command: 'say' }));
    expect(latest().headers['x-service-timestamp']).to.equal('1800000000');
    for (const [secs, good] of [
      [0, true],
      [300, true],
      [-300, true],
      [301, false],
      [-301, false],
    ] as const)
      expect(await isGenuine(latest(), secret, 1_800_000_000 + secs), String(secs)).to.equal(good);
    const later = { ...latest().headers, 'x-service-timestamp': '1800000001' };
    expect(await isGenuine({ ...latest(), headers: later }, secret, 1_800_000_000)).to.equal(false);
  });

  it('pings are signed like deliveries: a save and a test send one each, and nothing else', async () => {
    const { site, received } = endpointFixture.endpoint;
    const before = Math.floor(Date.now() / 1000);
    expect((await fixture.api.call('POST', `${path()}/interactions-endpoint/test`, { as: fixture.asPerson })).body).to.include({
      ok: true,
    });
    expect(endpointFixture.endpoint.pings).to.have.length(2);
    expect(site.asked.length - received.length).to.equal(2);
    for (const ping of endpointFixture.endpoint.pings) {
      expect(ping.bytes.toString()).to.equal('{"type":"ping"}');
      expect(await isGenuine(ping, secret, timeOf(ping))).to.equal(true);
    }
    const [, test] = endpointFixture.endpoint.pings;
    expect(test && timeOf(test)).to.be.within(before, Math.floor(Date.now() / 1000));
  });

  it('sends exactly the fields of an Interaction, without options that were not filled in', async () => {
    const id = await fixture.use({ command: 'say', body: { text: 'count: 3 loud: yes' } });
    await endpointFixture.post(id);
    const { _id, username, displayName, avatarUrl } =
      (await fixture.api.platform.db.accounts.findOne({ _id: fixture.seeded.ownerId })) ?? expect.fail();
    expect(latest().json).to.deep.equal({
      type: 'command',
      id,
      token: fixture.tokenOf(id),
      applicationId: fixture.bot.applicationId,
      channelId: fixture.channelId,
      serverId: fixture.seeded.serverId,
      user: { id: _id, username, displayName, avatarUrl, roles: [] },
      data: {
        id: fixture.commands.say,
        name: 'say',
        options: [
          { name: 'count', type: 'integer', value: 3 },
          { name: 'loud', type: 'boolean', value: true },
        ],
      },
    });
    await say();
    expect(latest().json.data).to.deep.equal({ id: fixture.commands.say, name: 'say', options: [] });
  });

  it('sends the roles of the person; in a DM no roles, and serverId null', async () => {
    const { db, accessVersions } = fixture.api.platform;
    const role = { id: fixture.api.platform.ids.next(), name: 'r', color: null, hoist: false, permissions: 0, botId: null };
    await accessVersions.runChange({ servers: [fixture.seeded.serverId], accounts: [fixture.seeded.ownerId] }, async () => {
      await db.servers.updateOne({ _id: fixture.seeded.serverId }, { $push: { roles: role } });
      await db.members.updateOne({ _id: `${fixture.seeded.serverId}:${fixture.seeded.ownerId}` }, { $set: { roles: [role.id] } });
    });
    await say();
    expect(latest().json.user).to.deep.include({ id: fixture.seeded.ownerId, roles: [role.id] });
    const dm = await fixture.api.call('POST', '/api/users/@me/channels', { as: fixture.asPerson, body: { recipientId: fixture.bot.id } });
    const used = await fixture.api.call('POST', `/api/channels/${String(dm.body.id)}/commands/${fixture.commands.say}/invoke`, {
      as: fixture.asPerson,
      body: {},
    });
    await fixture.age(String(used.body.id), -60_000);
    await endpointFixture.post(String(used.body.id));
    expect(latest().json).to.deep.include({ id: used.body.id, channelId: dm.body.id, serverId: null });
    expect(latest().json.user).to.deep.include({ id: fixture.seeded.ownerId, roles: [] });
  });

  it('sends a token that the callback and follow-up routes accept', async () => {
    await say();
    const { id, token } = latest().json;
    const routes = `/api/interactions/${String(id)}/${String(token)}`;
    expect((await fixture.api.call('POST', `${routes}/callback`, { body: { type: 'defer' } })).status).to.equal(204);
    expect((await fixture.api.call('POST', `${routes}/followup`, { body: { content: 'x' } })).status).to.equal(201);
  });

  it('signs with a new signing secret from the next delivery on', async () => {
    const old = secret;
    const { body } = await fixture.api.call('POST', `${path()}/signing-secret`, { as: fixture.asPerson });
    secret = String(body.signingSecret);
    await say();
    expect(await isGenuine(latest(), secret, timeOf(latest()))).to.equal(true);
    expect(await isGenuine(latest(), old, timeOf(latest()))).to.equal(false);
    expect(latest().headers['x-service-signature']).to.match(/^[0-9a-f]{64}$/);
  });
});

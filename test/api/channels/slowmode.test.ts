import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { requireNoCooldown, startCooldown } from '../../../lib/domain/channels/slowmode.ts';
import { expectNoOrphans, formOf, sendBody } from '../../files/fixture.ts';
import type { Answer } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeChannel, makeMember, setOverwrite } from '../../harness/factories.ts';
import { type Caller, inParallel, send, tally } from '../../harness/requests.ts';
import { newBot, newMember, useServer } from '../../harness/use.ts';

describe('slow mode', () => {
  const { api, owner, server, member, bot } = useServer({ member: newMember(), bot: newBot() });

  /** Makes a channel with slow mode. */
  const addSlowChannel = async (slowmodeSecs = 60): Promise<string> => {
    const { id } = await makeChannel(api, owner, server.id);
    await send(api, 200, owner, 'PATCH', `/api/channels/${id}`, { slowmodeSecs });
    return id;
  };
  const post = (channelId: string, as: Caller, body: object = { content: 'x' }, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call('POST', `/api/channels/${channelId}/messages`, { as: as.as, body, headers });
  /** Moves the start of the account's cooldown into the past by `ms`. */
  const age = (channelId: string, as: Caller, ms: number): Promise<unknown> =>
    api.platform.db.cooldowns.updateOne({ _id: `${channelId}:${as.id}` }, [{ $set: { at: { $subtract: ['$at', ms] } } }]);
  /** How many milliseconds of a cooldown of `secs` are left. */
  const leftMs = async (channelId: string, as: Caller, secs: number): Promise<number> => {
    const cooldown = await api.platform.db.cooldowns.findOne({ _id: `${channelId}:${as.id}` });
    return (cooldown?.at.getTime() ?? 0) + secs * 1000 - Date.now();
  };
  const count = (channelId: string): Promise<number> => api.platform.db.messages.countDocuments({ channelId });

  for (const who of ['person', 'bot'] as const)
    it(`429 slowmode for a ${who} during the cooldown, with the time that is left in header and body`, async () => {
      const channelId = await addSlowChannel(60);
      const caller = who === 'bot' ? bot : member;
      expect((await post(channelId, caller)).status).to.equal(201);
      await age(channelId, caller, 47_500);
      const before = await leftMs(channelId, caller, 60);
      const early = await post(channelId, caller);
      expectError(early, 429, 'slowmode');
      const wait = Number(early.body.retryAfter);
      expect(wait * 1000, 'at least the time that is left, and less than a second more').to.be.within(
        await leftMs(channelId, caller, 60),
        before + 1_000,
      );
      expect(early.headers.get('Retry-After')).to.equal(String(wait));
      expect(early.body.message).to.contain(`${wait} s`);
      await age(channelId, caller, (wait - 3) * 1000);
      expect((await post(channelId, caller)).body.retryAfter).to.be.within(1, 3);
      await age(channelId, caller, 3_000);
      expect((await post(channelId, caller)).status).to.equal(201);
      expect((await post(channelId, caller)).body.retryAfter).to.be.within(58, 60);
    });

  it('201 for one of 50 posts of one person at once', async () => {
    for (let round = 0; round < 4; round++) {
      const channelId = await addSlowChannel();
      const answers = await Promise.all(Array.from({ length: 50 }, () => post(channelId, member)));
      expect(tally(answers)).to.deep.equal({ 201: 1, 429: 49 });
      for (const { body, status } of answers) if (status === 429) expect(body.retryAfter).to.be.within(55, 60);
      expect(await count(channelId)).to.equal(1);
    }
  });

  it('201 for one of 50 posts at once just after the cooldown', async () => {
    const channelId = await addSlowChannel(5);
    await post(channelId, bot);
    await age(channelId, bot, 5_000);
    expect(tally(await inParallel(50, () => post(channelId, bot)))).to.deep.equal({ 201: 1, 429: 49 });
  });

  it('201 for 20 posts of 20 people at once', async () => {
    const channelId = await addSlowChannel();
    const people = await Promise.all(Array.from({ length: 20 }, () => makeMember(api, owner, server.id)));
    expect(tally(await Promise.all(people.map((one) => post(channelId, one))))).to.deep.equal({ 201: 20 });
    expect(tally(await Promise.all(people.map((one) => post(channelId, one))))).to.deep.equal({ 429: 20 });
  });

  for (const permission of ['Manage Messages', 'Manage Channels', 'Administrator'] as const)
    it(`does not apply with ${permission}`, async () => {
      const channelId = await addSlowChannel();
      const other = await makeMember(api, owner, server.id, permissionBits[permission]);
      expect(tally([await post(channelId, other), await post(channelId, other)])).to.deep.equal({ 201: 2 });
    });

  for (const permission of ['Manage Server', 'Manage Roles', 'Mention Everyone'] as const)
    it(`applies with ${permission}`, async () => {
      const channelId = await addSlowChannel();
      const other = await makeMember(api, owner, server.id, permissionBits[permission]);
      expect(tally([await post(channelId, other), await post(channelId, other)])).to.deep.equal({ 201: 1, 429: 1 });
    });

  it('an invalid post starts no cooldown, and is 400 during one', async () => {
    const channelId = await addSlowChannel();
    for (const body of [{}, { content: '' }, { content: 'x', replyTo: '1000000000000000000' }, { content: 'x', embeds: [{ title: 'x' }] }])
      expect((await post(channelId, member, body)).status).to.equal(400);
    expect((await post(channelId, member)).status).to.equal(201);
    expect((await post(channelId, member, { content: '' })).status).to.equal(400);
  });

  it('each channel has its own cooldown, which edits and deletes do not affect', async () => {
    const [one, other] = [await addSlowChannel(), await addSlowChannel()];
    const { body } = await post(one, member);
    expect((await post(other, member)).status).to.equal(201);
    const path = `/api/channels/${one}/messages/${String(body.id)}`;
    for (const content of ['a', 'b']) expect((await api.call('PATCH', path, { as: member.as, body: { content } })).status).to.equal(200);
    expect((await api.call('DELETE', path, { as: member.as })).status).to.equal(204);
    expect((await post(one, member)).status, 'the cooldown of the deleted message').to.equal(429);
  });

  it('a thread has its own slow mode, with the permissions of its channel', async () => {
    const parent = await addSlowChannel(600);
    const moderator = await makeMember(api, owner, server.id);
    await setOverwrite(api, owner, parent, moderator.id, permissionBits['Manage Messages'], 0);
    const thread = await send<{ id: string; slowmodeSecs: number }>(api, 201, member, 'POST', `/api/channels/${parent}/threads`, {
      name: 't',
    });
    expect(thread.slowmodeSecs).to.equal(0);
    for (let n = 0; n < 3; n++) expect((await post(thread.id, member)).status).to.equal(201);
    await send(api, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { slowmodeSecs: 30 });
    expect(tally([await post(thread.id, member), await post(thread.id, member)])).to.deep.equal({ 201: 1, 429: 1 });
    expect(tally([await post(thread.id, moderator), await post(thread.id, moderator)])).to.deep.equal({ 201: 2 });
    expect((await post(parent, member)).status).to.equal(201);
  });

  it('a shorter, longer or removed slow mode has effect at once', async () => {
    const channelId = await addSlowChannel(600);
    const set = (slowmodeSecs: number): Promise<unknown> => send(api, 200, owner, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs });
    await post(channelId, member);
    await age(channelId, member, 30_000);
    expect((await post(channelId, member)).body.retryAfter).to.be.within(565, 570);
    await set(20);
    expect((await post(channelId, member)).status).to.equal(201);
    await set(21_600);
    expect((await post(channelId, member)).body.retryAfter).to.be.within(21_595, 21_600);
    await set(0);
    for (let n = 0; n < 3; n++) expect((await post(channelId, member)).status).to.equal(201);
  });

  it('the same Idempotency-Key gets the first response again, not 429', async () => {
    const channelId = await addSlowChannel();
    const key = { 'Idempotency-Key': 'once' };
    const first = await post(channelId, member, { content: 'x' }, key);
    const again = await post(channelId, member, { content: 'x' }, key);
    expect([first.status, again.status, again.body.id]).to.deep.equal([201, 201, first.body.id]);
    expect(await count(channelId)).to.equal(1);
  });

  it('429 before the files of a post are read, 201 with files after the cooldown and for a repeated key', async () => {
    const channelId = await addSlowChannel();
    const url = `${api.url}/api/channels/${channelId}/messages`;
    const upload = (headers: Record<string, string> = {}, payload: unknown = { content: 'x' }) =>
      sendBody(url, member.as, formOf(payload, [{ name: 'a.txt', bytes: 'a' }]), headers);
    const key = { 'Idempotency-Key': 'files' };
    const first = await upload(key);
    const again = await upload(key);
    expect([first.status, again.status, again.body.id]).to.deep.equal([201, 201, first.body.id]);
    expect([(await upload()).status, (await upload({ 'Idempotency-Key': 'other' })).status]).to.deep.equal([429, 429]);
    expect((await upload({}, 'no JSON')).body.code, 'refused before the body is read').to.equal('slowmode');
    await age(channelId, member, 60_000);
    expect((await upload({}, 'no JSON')).status).to.equal(400);
    expect((await upload()).status).to.equal(201);
    await expectNoOrphans(api);
  });

  it('a create that is repeated after a crash keeps its cooldown, also when its author has posted since', async () => {
    const channelId = await addSlowChannel(60);
    const context = { channelId, serverId: server.id, permissions: 0, access: null, dm: null, channel: { slowmodeSecs: 60 } as never };
    const codeOf = (error: { code?: string }): string | undefined => error.code;
    const [first, second] = [api.platform.ids.next(), api.platform.ids.next()];
    await startCooldown(api.platform, context, member.id, first);
    await startCooldown(api.platform, context, member.id, first);
    const refused = await startCooldown(api.platform, context, member.id, second).catch(codeOf);
    expect(refused).to.equal('slowmode');
    expect(await requireNoCooldown(api.platform, context, member.id).catch(codeOf)).to.equal('slowmode');
    await age(channelId, member, 60_000);
    await requireNoCooldown(api.platform, context, member.id);
    const stored = await post(channelId, member, { content: 'x' }, { 'Idempotency-Key': 'again' });
    const { createId } = (await api.platform.db.messages.findOne({ _id: String(stored.body.id) })) ?? {};
    await age(channelId, member, 60_000);
    await post(channelId, member);
    await startCooldown(api.platform, context, member.id, String(createId));
  });

  it('does not wait an hour when the clock of the database was set back by an hour', async () => {
    const channelId = await addSlowChannel(5);
    await post(channelId, member);
    await age(channelId, member, -3_600_000);
    expect((await post(channelId, member)).status).to.equal(201);
    expect((await post(channelId, member)).body).to.include({ code: 'slowmode', retryAfter: 5 });
  });

  it('the database deletes a cooldown after the longest slow mode', async () => {
    const channelId = await addSlowChannel(5);
    await post(channelId, member);
    const cooldown = await api.platform.db.cooldowns.findOne({ _id: `${channelId}:${member.id}` });
    expect((cooldown?.expiresAt.getTime() ?? 0) - (cooldown?.at.getTime() ?? 0)).to.equal(21_600_000);
  });
});

import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { FollowDoc } from '../../../lib/store/mongo/models/follow.ts';
import type { Answer } from '../../harness/api.ts';
import {
  join,
  loseAnswers,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  openDm,
  setOverwrite,
  unknownId,
} from '../../harness/factories.ts';
import { inParallel, refused, refusedWithout, tally } from '../../harness/requests.ts';
import { useFollows } from './follow-fixture.ts';

const { 'Manage Webhooks': manageWebhooks, 'View Channel': viewChannel } = permissionBits;

describe('POST /api/channels/{channelId}/followers', () => {
  const { api, owner, follower, from, to, news, target, path, follow, stored, fill, audit } = useFollows();
  const post = (channelId = target.id, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call('POST', path(), { as: follower.as, body: { channelId }, headers });

  it('201 with the target, its server and the time; adds an audit entry to the target’s server', async () => {
    const made = await follow();
    expect(made).to.have.all.keys('channelId', 'serverId', 'createdAt');
    expect(made).to.include({ channelId: target.id, serverId: to.id });
    expect(await audit()).to.deep.include({
      action: 'follow_create',
      changes: { sourceId: { from: null, to: news.id } },
      actorId: follower.id,
    });
  });

  it('200 with the same body if the target follows already, without another audit entry', async () => {
    const first = await follow();
    expect(await follow(target.id, follower, 200)).to.deep.equal(first);
    expect(await stored()).to.have.length(1);
    expect((await audit()).filter((one) => one.action === 'follow_create')).to.have.length(1);
  });

  it('201 within one server, and for a member who has Manage Webhooks in the target only', async () => {
    expect(await follow(from.general, owner)).to.include({ channelId: from.general, serverId: from.id });
    const member = await makeMember(api, follower, to.id);
    await join(api, owner, from.id, member);
    await setOverwrite(api, follower, target.id, member.id, manageWebhooks, 0);
    await follow(target.id, member);
  });

  it('a repeat with its Idempotency-Key has the response of the first', async () => {
    const headers = { 'Idempotency-Key': `follow ${news.id}` };
    const [first, second] = [await post(target.id, headers), await post(target.id, headers)];
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.body).to.deep.equal(first.body);
  });

  it('a repeat after a crash of the first finishes it: 201, one follower, one audit entry', async () => {
    const headers = { 'Idempotency-Key': `crash ${news.id}` };
    await post(target.id, headers);
    const [{ createId }] = (await stored()) as [FollowDoc];
    await loseAnswers(api, { resourceId: createId });
    expect((await post(target.id, headers)).status).to.equal(201);
    expect(await stored()).to.have.length(1);
    expect(await audit()).to.have.length(2); // channel_create and follow_create
  });

  for (const kind of ['text', 'voice', 'category'] as const)
    it(`400 if the channel to follow is a ${kind} channel`, async () => {
      const { id } = await makeChannel(api, owner, from.id, { kind });
      await refused(api, [400, 'invalid_request'], follower, 'POST', path(id), { channelId: target.id });
    });

  it('400 if the channel to follow is a DM', async () => {
    const dm = await openDm(api, follower, owner);
    await refused(api, [400, 'invalid_request'], follower, 'POST', path(dm.id), { channelId: target.id });
  });

  it('404 for an unknown channel and outside its server, 403 View Channel for a hidden channel', async () => {
    const outsider = await makePerson(api);
    const own = await makeServer(api, outsider);
    await refused(api, [404, 'not_found'], outsider, 'POST', path(), { channelId: own.general });
    await refused(api, [404, 'not_found'], follower, 'POST', path(unknownId), { channelId: target.id });
    await setOverwrite(api, owner, news.id, from.id, 0, viewChannel);
    await refusedWithout(api, 'View Channel', follower, 'POST', path(), { channelId: target.id });
  });

  it('400 with the same error for a target that is unknown, hidden, in a server one is not in, or a DM', async () => {
    const foreign = await makeServer(api, await makePerson(api));
    const hidden = await makeChannel(api, owner, from.id);
    await setOverwrite(api, owner, hidden.id, from.id, 0, viewChannel);
    const dm = await openDm(api, follower, owner);
    const errors = new Set<string>();
    for (const channelId of [unknownId, foreign.general, hidden.id, dm.id]) {
      const error = await refused(api, [400, 'invalid_request'], follower, 'POST', path(), { channelId });
      errors.add(JSON.stringify(error.errors));
    }
    expect(errors.size).to.equal(1);
  });

  it('400 if the target is the channel itself, another announcement channel or no id', async () => {
    const other = await makeChannel(api, owner, from.id, { kind: 'announcement' });
    for (const channelId of [news.id, other.id, 'nope', 5, null])
      await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { channelId });
    expect(await stored()).to.deep.equal([]);
  });

  it('403 missing_permission without Manage Webhooks in a visible target', async () => {
    await refusedWithout(api, 'Manage Webhooks', follower, 'POST', path(), { channelId: from.general });
    expect(await stored()).to.deep.equal([]);
  });

  it('100 parallel requests after 990 followers: 10 succeed, the others get 400 too_many_followers', async () => {
    await fill(990);
    const { channels } = api.platform.db;
    const model = await channels.findOne({ _id: target.id });
    const targets = Array.from({ length: 100 }, () => api.platform.ids.next());
    await channels.insertMany(targets.map((_id, n) => ({ ...model, _id, slot: 1_000 + n })) as never);
    const answers = await Promise.all(targets.map((channelId) => post(channelId)));
    expect(tally(answers)).to.deep.equal({ 201: 10, 400: 90 });
    for (const { status, body } of answers) if (status === 400) expect(body.code).to.equal('too_many_followers');
    expect(await stored()).to.have.length(1_000);
  });

  it('400 too_many_followers after 1,000, but 200 for one that follows already', async () => {
    await fill(999);
    await follow();
    const { id } = await makeChannel(api, follower, to.id);
    await refused(api, [400, 'too_many_followers'], follower, 'POST', path(), { channelId: id });
    await follow(target.id, follower, 200);
  });

  it('20 parallel requests for one target: one 201, the others 200, one follower', async () => {
    expect(tally(await inParallel(20, () => post()))).to.deep.equal({ 200: 19, 201: 1 });
    expect(await stored()).to.have.length(1);
  });
});

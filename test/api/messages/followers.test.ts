import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Follower } from '../../../lib/contract/follower.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import { removeFollowsOf } from '../../../lib/domain/messages/followers.ts';
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
import { type Caller, inParallel, refused, refusedWithout, send, tally } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';

const { 'Manage Webhooks': manageWebhooks, 'View Channel': viewChannel } = permissionBits;

describe('followers of announcement channels', () => {
  // `follower` owns `to`, and is a member of `from` without more permissions.
  const { api, owner, server: from, follower } = useServer({ follower: newMember() });
  const to = make(() => makeServer(api, follower));
  /** The announcement channel, and the text channel that follows it. */
  const news = make(() => makeChannel(api, owner, from.id, { kind: 'announcement' }), { each: true });
  const target = make(() => makeChannel(api, follower, to.id), { each: true });

  const path = (channelId = news.id): string => `/api/channels/${channelId}/followers`;
  /** Makes a channel, by default `target`, follow `news`. */
  const follow = (channelId = target.id, as: Caller = follower, status = 201): Promise<Follower> =>
    send(api, status, as, 'POST', path(), { channelId });
  /** The stored followers of `news`. */
  const stored = (): Promise<FollowDoc[]> => api.platform.db.follows.find({ sourceId: news.id }).sort({ _id: 1 }).toArray();
  /** The audit entries about `target`. */
  const audit = async (): Promise<{ action: string; changes: object; actorId: string }[]> => {
    const { items } = await send<AuditPage>(api, 200, follower, 'GET', `/api/servers/${to.id}/audit-log`);
    return items.filter(({ targetId }) => targetId === target.id).map(({ action, changes, actorId }) => ({ action, changes, actorId }));
  };
  const list = async (as: Caller): Promise<string[]> =>
    (await send<Follower[]>(api, 200, as, 'GET', path())).map(({ channelId }) => channelId);
  const post = (channelId = target.id, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call('POST', path(), { as: follower.as, body: { channelId }, headers });

  describe('POST /api/channels/{channelId}/followers', () => {
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

    it('400 if the channel to follow is a text or voice channel, a category or a DM', async () => {
      const { id: dmId } = await openDm(api, follower, owner);
      const kinds = await Promise.all((['text', 'voice', 'category'] as const).map((kind) => makeChannel(api, owner, from.id, { kind })));
      for (const id of [dmId, ...kinds.map((one) => one.id)])
        await refused(api, [400, 'invalid_request'], follower, 'POST', path(id), { channelId: target.id });
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

    it('100 parallel requests after 990 followers: 10 succeed, the others get 400 too_many_followers', async () => {
      const { channels, follows } = api.platform.db;
      const emptyFollow = (slot: number): FollowDoc => {
        const id = api.platform.ids.next();
        return { _id: `${news.id}:${id}`, sourceId: news.id, targetId: id, serverId: id, createId: id, slot, createdAt: new Date() };
      };
      await follows.insertMany(Array.from({ length: 990 }, (_, slot) => emptyFollow(slot)));
      const model = await channels.findOne({ _id: target.id });
      const targets = Array.from({ length: 100 }, () => api.platform.ids.next());
      await channels.insertMany(targets.map((_id, n) => ({ ...model, _id, slot: 1_000 + n })) as never);
      const answers = await Promise.all(targets.map((channelId) => post(channelId)));
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 90 });
      for (const { status, body } of answers) if (status === 400) expect(body.code).to.equal('too_many_followers');
      expect(await stored()).to.have.length(1_000);
      expect((await post(targets[answers.findIndex(({ status }) => status === 201)])).status, 'one that follows already').to.equal(200);
    });

    it('20 parallel requests for one target: one 201, the others 200, one follower', async () => {
      expect(tally(await inParallel(20, () => post()))).to.deep.equal({ 200: 19, 201: 1 });
      expect(await stored()).to.have.length(1);
    });
  });

  describe('GET /api/channels/{channelId}/followers', () => {
    it('200 with all, oldest first, for a member with Manage Webhooks in the channel; for others only targets they manage', async () => {
      await follow(from.general, owner);
      await follow();
      expect(await list(owner)).to.deep.equal([from.general, target.id]);
      expect(await list(follower)).to.deep.equal([target.id]);
      expect(await list(await makeMember(api, owner, from.id))).to.deep.equal([]);
    });

    it('overwrites decide which targets one manages; a target that one cannot view is not shown', async () => {
      await follow();
      const member = await makeMember(api, owner, from.id);
      await join(api, follower, to.id, member);
      expect(await list(member)).to.deep.equal([]);
      await setOverwrite(api, follower, target.id, member.id, manageWebhooks, 0);
      expect(await list(member)).to.have.length(1);
      await setOverwrite(api, follower, target.id, member.id, manageWebhooks, viewChannel);
      expect(await list(member)).to.deep.equal([]);
    });

    it('400 for a text channel', () => refused(api, [400, 'invalid_request'], owner, 'GET', path(from.general)));
  });

  describe('DELETE /api/channels/{channelId}/followers/{targetId}', () => {
    const followerPath = (): string => `${path()}/${target.id}`;

    it('204, then 404; adds an audit entry', async () => {
      await follow();
      await send(api, 204, follower, 'DELETE', followerPath());
      expect(await stored()).to.deep.equal([]);
      await refused(api, [404, 'not_found'], follower, 'DELETE', followerPath());
      expect(await audit()).to.deep.include({
        action: 'follow_delete',
        changes: { sourceId: { from: news.id, to: null } },
        actorId: follower.id,
      });
    });

    it('204 if one can no longer view the channel, and if it is a text channel now', async () => {
      await follow();
      await setOverwrite(api, owner, news.id, from.id, 0, viewChannel);
      await send(api, 200, owner, 'PATCH', `/api/channels/${news.id}`, { kind: 'text' });
      await send(api, 204, follower, 'DELETE', followerPath());
    });

    it('403 without Manage Webhooks in the target, 404 outside its server', async () => {
      await follow();
      await refusedWithout(api, 'Manage Webhooks', await makeMember(api, follower, to.id), 'DELETE', followerPath());
      await refused(api, [404, 'not_found'], owner, 'DELETE', followerPath());
      expect(await stored()).to.have.length(1);
    });
  });

  it('removing the follows of a channel removes those from it and those to it', async () => {
    await follow();
    await follow(from.general, owner);
    await removeFollowsOf(api.platform, target.id);
    expect((await stored()).map(({ targetId }) => targetId)).to.deep.equal([from.general]);
    await removeFollowsOf(api.platform, news.id);
    expect(await stored()).to.deep.equal([]);
  });
});

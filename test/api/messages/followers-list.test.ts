import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Follower } from '../../../lib/contract/follower.ts';
import { removeFollowsOf } from '../../../lib/domain/messages/followers.ts';
import { join, makeMember, makePerson, setOverwrite } from '../../harness/factories.ts';
import { type Caller, refused, refusedWithout, send } from '../../harness/requests.ts';
import { useFollows } from './follow-fixture.ts';

const { 'Manage Webhooks': manageWebhooks, 'View Channel': viewChannel } = permissionBits;

describe('listing and removing followers', () => {
  const { api, owner, follower, from, to, news, target, path, follow, stored, audit } = useFollows();
  const list = async (as: Caller): Promise<string[]> =>
    (await send<Follower[]>(api, 200, as, 'GET', path())).map(({ channelId }) => channelId);

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

    it('400 for a text channel, 404 outside the server', async () => {
      await refused(api, [400, 'invalid_request'], owner, 'GET', path(from.general));
      await refused(api, [404, 'not_found'], await makePerson(api), 'GET', path());
    });
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

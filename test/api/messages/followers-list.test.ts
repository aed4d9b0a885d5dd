import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Follower } from '../../../lib/contract/follower.ts';
import { removeFollowsOf } from '../../../lib/domain/messages/followers.ts';
import type { TestApi } from '../../harness/api.ts';
import { type Caller, join, makeMember, makePerson, refused, send, setOverwrite } from '../../harness/factories.ts';
import { type FollowFixture, followFixture } from './follow-fixture.ts';

const manageWebhooks = permissionBits['Manage Webhooks'];

describe('followers: list and end', () => {
  let fixture: FollowFixture;
  let api: TestApi;
  let owner: Caller;
  let follower: Caller;
  let from: FollowFixture['from'];
  let to: FollowFixture['to'];
  let news: string;
  let text: string;
  let target: string;
  let path: FollowFixture['path'];
  let follow: FollowFixture['follow'];
  let rows: FollowFixture['rows'];
  let audit: FollowFixture['audit'];

  before(async () => {
    fixture = await followFixture();
    ({ api, owner, follower, from, to, path, follow, rows, audit } = fixture);
  });
  after(() => api.close());
  beforeEach(async () => {
    await fixture.renew();
    ({ news, text, target } = fixture);
  });
  const list = (as: Caller, id = news): Promise<Follower[]> => send(api, 200, as, 'GET', path(id));

  describe('GET /api/channels/{id}/followers', () => {
    it('all, oldest first, for who has Manage Webhooks in the source; for others their own targets only', async () => {
      await follow(text, owner);
      await follow();
      const all = await list(owner);
      expect(all.map(({ channelId }) => channelId)).to.deep.equal([text, target]);
      expect((await list(follower)).map(({ channelId }) => channelId)).to.deep.equal([target]);
      expect(await list(await makeMember(api, owner, from.id))).to.deep.equal([]);
    });

    it('what one manages follows overwrites, and a channel that is gone is not shown', async () => {
      await follow();
      const member = await makeMember(api, owner, from.id);
      await join(api, follower, to.id, member);
      expect(await list(member)).to.deep.equal([]);
      await setOverwrite(api, follower, target, member.id, manageWebhooks, 0);
      expect(await list(member)).to.have.length(1);
      await setOverwrite(api, follower, target, member.id, manageWebhooks, permissionBits['View Channel']);
      expect(await list(member)).to.deep.equal([]);
    });

    it('400 for a text channel, 404 outside', async () => {
      await refused(api, [400, 'invalid_request'], owner, 'GET', path(text));
      await refused(api, [404, 'not_found'], await makePerson(api), 'GET', path());
    });
  });

  describe('DELETE /api/channels/{id}/followers/{targetId}', () => {
    const end = (as: Caller, ...expected: [number, string]) => refused(api, expected, as, 'DELETE', `${path()}/${target}`);

    it('204, then 404; an audit entry', async () => {
      await follow();
      await send(api, 204, follower, 'DELETE', `${path()}/${target}`);
      expect(await rows()).to.deep.equal([]);
      await end(follower, 404, 'not_found');
      expect(await audit()).to.deep.include({
        action: 'follow_delete',
        changes: { sourceId: { from: news, to: null } },
        actorId: follower.id,
      });
    });

    it('also when the source cannot be seen any more, or is a text channel now', async () => {
      await follow();
      await setOverwrite(api, owner, news, from.id, 0, permissionBits['View Channel']);
      await send(api, 200, owner, 'PATCH', `/api/channels/${news}`, { kind: 'text' });
      await send(api, 204, follower, 'DELETE', `${path()}/${target}`);
    });

    it('403 without Manage Webhooks in the target, 404 outside its server', async () => {
      await follow();
      expect((await end(await makeMember(api, follower, to.id), 403, 'missing_permission')).missing).to.deep.equal(['Manage Webhooks']);
      await end(owner, 404, 'not_found');
      expect(await rows()).to.have.length(1);
    });
  });

  it('rows go with either channel', async () => {
    await follow();
    await follow(text, owner);
    await removeFollowsOf(api.platform, target);
    expect((await rows()).map(({ targetId }) => targetId)).to.deep.equal([text]);
    await removeFollowsOf(api.platform, news);
    expect(await rows()).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { FollowDoc } from '../../../lib/store/mongo/models/follow.ts';
import type { TestApi } from '../../harness/api.ts';
import {
  type Caller,
  join,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  refused,
  setOverwrite,
  tally,
} from '../../harness/factories.ts';
import { type FollowFixture, followFixture } from './follow-fixture.ts';

const manageWebhooks = permissionBits['Manage Webhooks'];

describe('POST /api/channels/{id}/followers', () => {
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
  const openDm = async (): Promise<string> => {
    const { body } = await api.call('POST', '/api/users/@me/channels', { as: follower.as, body: { recipientId: owner.id } });
    return String(body.id);
  };

  it('201 with the target, its server and the time; an audit entry in the target’s server', async () => {
    const made = await follow();
    expect(made).to.have.all.keys('channelId', 'serverId', 'createdAt');
    expect(made).to.include({ channelId: target, serverId: to.id });
    expect(await audit()).to.deep.include({
      action: 'follow_create',
      changes: { sourceId: { from: null, to: news } },
      actorId: follower.id,
    });
  });

  it('200 with the same when it follows already, and no second entry', async () => {
    const first = await follow();
    expect(await follow(target, follower, 200)).to.deep.equal(first);
    expect(await rows()).to.have.length(1);
    expect((await audit()).filter((one) => one.action === 'follow_create')).to.have.length(1);
  });

  it('within one server, and by a member that has Manage Webhooks in the target alone', async () => {
    expect(await follow(text, owner)).to.include({ channelId: text, serverId: from.id });
    const member = await makeMember(api, follower, to.id);
    await join(api, owner, from.id, member);
    await setOverwrite(api, follower, target, member.id, manageWebhooks, 0);
    await follow(target, member);
  });

  it('the same Idempotency-Key gives the 201 again', async () => {
    const post = () =>
      api.call('POST', path(), { as: follower.as, body: { channelId: target }, headers: { 'Idempotency-Key': `follow ${news}` } });
    const [first, second] = [await post(), await post()];
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.body).to.deep.equal(first.body);
  });

  it('taken up after a crash it is the same create: 201, one row, one audit entry', async () => {
    const post = () =>
      api.call('POST', path(), { as: follower.as, body: { channelId: target }, headers: { 'Idempotency-Key': `crash ${news}` } });
    await post();
    const { idempotency } = api.platform.db;
    const [{ createId }] = (await rows()) as [FollowDoc];
    await idempotency.updateOne({ resourceId: createId }, { $set: { answer: null, claimedAt: new Date(0) } });
    expect((await post()).status).to.equal(201);
    expect(await rows()).to.have.length(1);
    expect(await audit()).to.have.length(2); // channel_create and follow_create
  });

  for (const kind of ['text', 'voice', 'category'] as const)
    it(`400 when what is to be followed is a ${kind} channel`, async () => {
      const { id } = await makeChannel(api, owner, from.id, { kind });
      await refused(api, [400, 'invalid_request'], follower, 'POST', path(id), { channelId: target });
    });

  it('400 when it is one’s own DM', async () => {
    const dm = await openDm();
    await refused(api, [400, 'invalid_request'], follower, 'POST', path(dm), { channelId: target });
  });

  it('404 for a channel of a server that one is not in, 403 View Channel for a hidden one', async () => {
    const stranger = await makePerson(api);
    const own = await makeServer(api, stranger);
    await refused(api, [404, 'not_found'], stranger, 'POST', path(), { channelId: own.general });
    await refused(api, [404, 'not_found'], follower, 'POST', path('1000000000000000001'), { channelId: target });
    await setOverwrite(api, owner, news, from.id, 0, permissionBits['View Channel']);
    const error = await refused(api, [403, 'missing_permission'], follower, 'POST', path(), { channelId: target });
    expect(error.missing).to.deep.equal(['View Channel']);
  });

  it('400 alike for a target that does not exist, one of a foreign server, one that is hidden, and a DM', async () => {
    const stranger = await makePerson(api);
    const foreign = await makeServer(api, stranger);
    const { id: hidden } = await makeChannel(api, owner, from.id);
    await setOverwrite(api, owner, hidden, from.id, 0, permissionBits['View Channel']);
    const dm = await openDm();
    const answers = [];
    for (const channelId of ['1000000000000000001', foreign.general, hidden, dm]) {
      const { code, errors } = await refused(api, [400, 'invalid_request'], follower, 'POST', path(), { channelId });
      answers.push({ code, errors });
    }
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).to.equal(1);
  });

  it('400 for itself, for another announcement channel, and for a target that is no id', async () => {
    const other = await makeChannel(api, owner, from.id, { kind: 'announcement' });
    for (const channelId of [news, other.id, 'nope', 5, null])
      await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { channelId });
    expect(await rows()).to.deep.equal([]);
  });

  it('403 missing_permission without Manage Webhooks in a target that one can see', async () => {
    const error = await refused(api, [403, 'missing_permission'], follower, 'POST', path(), { channelId: text });
    expect(error.missing).to.deep.equal(['Manage Webhooks']);
    expect(await rows()).to.deep.equal([]);
  });

  it('100 targets at once at 990: exactly 1,000 rows, the others are refused', async () => {
    await fixture.fill(990);
    const { channels } = api.platform.db;
    const like = await channels.findById(target).lean();
    const targets = Array.from({ length: 100 }, () => api.platform.ids.next());
    await channels.collection.insertMany(targets.map((_id, n) => ({ ...like, _id, slot: 1_000 + n })) as never);
    const answers = await Promise.all(targets.map((channelId) => api.call('POST', path(), { as: follower.as, body: { channelId } })));
    expect(tally(answers)).to.deep.equal({ 201: 10, 400: 90 });
    for (const { status, body } of answers) if (status === 400) expect(body.code).to.equal('too_many_followers');
    expect(await rows()).to.have.length(1_000);
  });

  it('400 too_many_followers at 1,000, but 200 for one that follows already', async () => {
    await fixture.fill(999);
    await follow();
    const { id } = await makeChannel(api, follower, to.id);
    await refused(api, [400, 'too_many_followers'], follower, 'POST', path(), { channelId: id });
    await follow(target, follower, 200);
  });

  it('the same target 20 times at once: one row, one 201', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.call('POST', path(), { as: follower.as, body: { channelId: target } })),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    expect(answers.filter(({ status }) => status === 200)).to.have.length(19);
    expect(await rows()).to.have.length(1);
  });
});

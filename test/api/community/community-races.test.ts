import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { sweepHeld } from '../../../lib/domain/community/community-channels.ts';
import { grantServerTypes } from '../../../lib/domain/servers/grants.ts';
import { trusted } from '../../../lib/store/mongo/database.ts';
import { type Answer, startRacingTestApi, type TestApi } from '../../harness/api.ts';
import { type Caller, makeChannel, makePerson, makeServer, type Place, refused, send, tally } from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

describe('Community and Discovery, races and crashes', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  before(async () => {
    api = await startRacingTestApi();
  });
  after(() => api.close());
  beforeEach(async () => {
    owner = await makePerson(api);
    server = await makeServer(api, owner);
  });

  const both = { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' };
  const call = (what: 'community' | 'discovery', body: object): Promise<Answer<CommunitySettings>> =>
    api.call('PUT', `/api/servers/${server.id}/${what}`, { as: owner.as, body });
  const settings = (): Promise<CommunitySettings> => send(api, 200, owner, 'GET', `/api/servers/${server.id}/community`);
  const channels = async () => (await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).channels;
  const stored = () => api.platform.db.channels.countDocuments({ serverId: server.id });
  const off = { community: false, rulesChannelId: null, updatesChannelId: null };
  const times = async (many: number, once: (round: number) => Promise<unknown>): Promise<void> => {
    for (let round = 0; round < many; round++) await once(round);
  };
  /** Channels of ours until the server holds so many. */
  const fillTo = async (many: number): Promise<void> => {
    const { db, ids } = api.platform;
    const standing = await db.channels.find({ serverId: server.id }, { slot: 1 }).lean();
    const taken = new Set(standing.map((one) => one.slot));
    const slots = Array.from({ length: 500 }, (_, slot) => slot).filter((slot) => !taken.has(slot));
    const fixed = { serverId: server.id, kind: 'voice' as const, name: 'c', parentId: null, topic: null, slowmodeSecs: 0, overwrites: [] };
    const rest = { contentMode: 'default' as const, autoArchiveMinutes: null, archived: false, createdAt: new Date() };
    const docs = slots
      .slice(0, many - standing.length)
      .map((slot) => ({ _id: ids.next(), slot, position: 1_000 + slot, ...fixed, ...rest }));
    await api.platform.versions.changing({ servers: [server.id] }, () => db.channels.insertMany(docs));
  };

  it('of 20 PUTs with new at once one makes the two channels, and all answer them', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('community', both)));
    expect(tally(answers)).to.deep.equal({ 200: 20 });
    const set = await settings();
    for (const { body } of answers) expect(body).to.deep.equal(set);
    expect((await channels()).map((one) => one.id)).to.have.members([server.general, set.rulesChannelId, set.updatesChannelId]);
    expect(await stored()).to.equal(3);
  });

  it('one that loses to another makes no channel, whoever chose what', async () => {
    const channel = await makeChannel(api, owner, server.id);
    meet(api.platform.db.servers, 'updateOne', () =>
      call('community', { enabled: true, rulesChannelId: channel.id, updatesChannelId: channel.id }),
    );
    const { status, body } = await call('community', both);
    expect(status).to.equal(200);
    expect(body).to.include({ rulesChannelId: channel.id, updatesChannelId: channel.id });
    expect(await stored()).to.equal(2);
  });

  it('turned on and off and on by 20 at once it ends whole: both channels, or neither', () =>
    times(3, async () => {
      const bodies = Array.from({ length: 20 }, (_, at) => (at % 2 ? both : { enabled: false }));
      expect(tally(await Promise.all(bodies.map((body) => call('community', body))))).to.deep.equal({ 200: 20 });
      const { community, rulesChannelId, updatesChannelId } = await settings();
      expect([rulesChannelId !== null, updatesChannelId !== null]).to.deep.equal([community, community]);
      expect(await api.platform.db.channels.countDocuments({ heldAt: trusted({ $exists: true }) })).to.equal(0);
    }));

  for (const [standing, made] of [
    [498, 2],
    [499, 0],
    [500, 0],
  ] as const)
    it(`with ${standing} channels, ${made ? 'both are' : 'neither is'} made`, async () => {
      await fillTo(standing);
      const answer = await call('community', both);
      expect(answer.status).to.equal(made ? 200 : 400);
      if (!made) expect(answer.body).to.have.property('code', 'too_many_channels');
      expect(await settings()).to.include(made ? { community: true } : off);
      expect(await stored()).to.equal(standing + made);
    });

  it('with 499 channels one of two may be made beside one that stands', async () => {
    await fillTo(499);
    expect((await call('community', { ...both, rulesChannelId: server.general })).status).to.equal(200);
    expect(await stored()).to.equal(500);
  });

  describe('a process that dies', () => {
    // The caller's connection goes with the process, so what it is answered does not count.
    const dies = (): Promise<never> => Promise.reject(Object.assign(new Error('it died here'), { name: 'MongoNetworkError' }));
    const age = () =>
      api.platform.db.channels.collection.updateMany({ heldAt: { $exists: true } }, { $set: { heldAt: new Date(Date.now() - 31_000) } });

    it('after making the channels leaves none: nobody sees them, and the sweep takes them away', async () => {
      meet(api.platform.db.servers, 'updateOne', dies);
      expect((await call('community', both)).status).to.equal(503);
      expect(await stored()).to.equal(3);
      expect(await channels()).to.have.length(1);
      expect(await settings()).to.include(off);
      await sweepHeld(api.platform);
      expect(await stored(), 'it may be under way still').to.equal(3);
      await age();
      await sweepHeld(api.platform);
      await sweepHeld(api.platform);
      expect(await stored()).to.equal(1);
      expect((await call('community', both)).status).to.equal(200);
    });

    it('after choosing them leaves both: the sweep shows them', async () => {
      meet(api.platform.db.servers, 'findOneAndUpdate', dies);
      expect((await call('community', both)).status).to.equal(503);
      const { rulesChannelId, updatesChannelId, community } = await settings();
      expect(community).to.equal(true);
      expect(await channels()).to.have.length(1);
      await age();
      await Promise.all([sweepHeld(api.platform), sweepHeld(api.platform)]);
      const shown = await channels();
      expect(shown.map((one) => one.id)).to.have.members([server.general, rulesChannelId, updatesChannelId]);
      expect(new Set(shown.map((one) => one.position)).size).to.equal(3);
      const owed = await api.platform.db.channels.find({ serverId: server.id, name: trusted({ $ne: 'general' }) }).lean();
      expect(owed.map(({ ob }) => ob?.map(({ name }) => name))).to.deep.equal([['CHANNEL_CREATE'], ['CHANNEL_CREATE']]);
    });
  });

  describe('a chosen channel that is deleted', () => {
    const remove = (id: string) => send(api, 204, owner, 'DELETE', `/api/channels/${id}`);

    for (const [when, method] of [
      ['before the choice is written', 'updateOne'],
      ['after it was written', 'findOneAndUpdate'],
    ] as const)
      it(`at the moment ${when} leaves its field null`, async () => {
        const channel = await makeChannel(api, owner, server.id);
        meet(api.platform.db.servers, method, () => remove(channel.id));
        const { status, body } = await call('community', { ...both, updatesChannelId: channel.id });
        expect(status).to.equal(200);
        expect(body.updatesChannelId).to.equal(null);
        expect((await settings()).updatesChannelId).to.equal(null);
        expect(await channels()).to.have.length(2);
      });

    it('in 20 rounds at once with the PUT never stays chosen', () =>
      times(20, async () => {
        const channel = await makeChannel(api, owner, server.id);
        const body = { enabled: true, rulesChannelId: channel.id, updatesChannelId: server.general };
        const [put] = await Promise.all([call('community', body), remove(channel.id)]);
        expect(put.status).to.be.oneOf([200, 400]);
        expect((await settings()).rulesChannelId).to.equal(null);
      }));
  });

  describe('a listing', () => {
    beforeEach(async () => {
      await call('community', { enabled: true, rulesChannelId: server.general, updatesChannelId: server.general });
      await call('discovery', { description: 'x' });
    });
    const listed = async (): Promise<boolean> => (await settings()).discovery.listed;
    const list = { listed: true };

    it('400 team_server when the grant comes after it was looked for', async () => {
      meet(api.platform.db.servers, 'updateOne', () => grantServerTypes(api.platform, server.id, ['staff']));
      await refused(api, [400, 'team_server'], owner, 'PUT', `/api/servers/${server.id}/discovery`, list);
      expect(await listed()).to.equal(false);
    });

    it('400 when Community is turned off after it was looked for', async () => {
      meet(api.platform.db.servers, 'updateOne', () => call('community', { enabled: false }));
      await refused(api, [400, 'invalid_request'], owner, 'PUT', `/api/servers/${server.id}/discovery`, list);
      expect(await listed()).to.equal(false);
    });

    it('400 when the description is cleared after it was looked for', async () => {
      meet(api.platform.db.servers, 'updateOne', () => call('discovery', { description: '' }));
      await refused(api, [400, 'invalid_request'], owner, 'PUT', `/api/servers/${server.id}/discovery`, list);
      expect(await listed()).to.equal(false);
    });

    it('400 to clear the description when it is listed after that was looked for', async () => {
      meet(api.platform.db.servers, 'updateOne', () => call('discovery', list));
      await refused(api, [400, 'invalid_request'], owner, 'PUT', `/api/servers/${server.id}/discovery`, { description: '' });
      expect((await settings()).discovery).to.include({ listed: true, description: 'x' });
    });

    it('in 20 rounds at once with all of these it is never listed without what it needs', () =>
      times(20, async (round) => {
        const against = [
          () => grantServerTypes(api.platform, server.id, round % 4 ? ['developer'] : []),
          () => call('community', { enabled: false }),
          () => call('discovery', { description: '' }),
        ][round % 3];
        await Promise.all([call('discovery', list), against?.(), call('discovery', { ...list, tags: [`t${round}`] })]);
        const { community, discovery } = await settings();
        const { types } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
        if (discovery.listed) expect([community, discovery.description, types.length]).to.deep.equal([true, 'x', 0]);
        await grantServerTypes(api.platform, server.id, []);
        await call('community', { enabled: true, rulesChannelId: server.general, updatesChannelId: server.general });
        await call('discovery', { listed: false, description: 'x' });
      }));
  });
});

import { expect } from 'chai';
import { mongo } from 'mongoose';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import { sweepHiddenChannels } from '../../../lib/domain/community/channels.ts';
import { grantServerTypes } from '../../../lib/domain/servers/grants.ts';
import { type Answer, startRacingTestApi } from '../../harness/api.ts';
import { makeChannel } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { channelOf } from '../../harness/seed.ts';
import { newChannels, type Settings, useCommunity } from './community-fixture.ts';

describe('Community and Discovery: concurrent requests and crashes', () => {
  const { api, owner, server, path, turnOn, fetchServer, fetchSettings } = useCommunity(startRacingTestApi);
  const call = (settings: Settings, body: object): Promise<Answer<CommunitySettings>> =>
    api.call('PUT', path(settings), { as: owner.as, body });
  const listChannels = async () => (await fetchServer()).channels;
  const countStored = () => api.platform.db.channels.countDocuments({ serverId: server.id });
  const off = { community: false, rulesChannelId: null, updatesChannelId: null };
  const times = async (many: number, once: (round: number) => Promise<unknown>): Promise<void> => {
    for (let round = 0; round < many; round++) await once(round);
  };
  /** Stores channels until the server has `many`. */
  const fillTo = async (many: number): Promise<void> => {
    const { db, ids } = api.platform;
    const present = await db.channels.find({ serverId: server.id }, { projection: { slot: 1 } }).toArray();
    const taken = new Set(present.map((one) => one.slot));
    const slots = Array.from({ length: 500 }, (_, slot) => slot).filter((slot) => !taken.has(slot));
    const docs = slots.slice(0, many - present.length).map((slot) => ({ ...channelOf(ids.next(), server.id, 1_000 + slot), slot }));
    await api.platform.accessVersions.runChange({ servers: [server.id] }, () => db.channels.insertMany(docs));
  };

  it('20 concurrent PUTs with new channels make two channels, and all return them', async () => {
    const answers = await inParallel(20, () => call('community', newChannels));
    expect(tally(answers)).to.deep.equal({ 200: 20 });
    const set = await fetchSettings();
    for (const { body } of answers) expect(body).to.deep.equal(set);
    expect((await listChannels()).map((one) => one.id)).to.have.members([server.general, set.rulesChannelId, set.updatesChannelId]);
    expect(await countStored()).to.equal(3);
  });

  it('a PUT that another one overtakes makes no channel and returns the other’s channels', async () => {
    const channel = await makeChannel(api, owner, server.id);
    beforeNextQuery(api.platform.db.servers, 'updateOne', () =>
      call('community', { enabled: true, rulesChannelId: channel.id, updatesChannelId: channel.id }),
    );
    const { status, body } = await call('community', newChannels);
    expect(status).to.equal(200);
    expect(body).to.include({ rulesChannelId: channel.id, updatesChannelId: channel.id });
    expect(await countStored()).to.equal(2);
  });

  it('after 20 concurrent PUTs that turn it on and off, either both channels are set or neither', () =>
    times(3, async () => {
      const bodies = Array.from({ length: 20 }, (_, at) => (at % 2 ? newChannels : { enabled: false }));
      expect(tally(await Promise.all(bodies.map((body) => call('community', body))))).to.deep.equal({ 200: 20 });
      const { community, rulesChannelId, updatesChannelId } = await fetchSettings();
      expect([rulesChannelId !== null, updatesChannelId !== null]).to.deep.equal([community, community]);
      expect(await api.platform.db.channels.countDocuments({ heldAt: { $exists: true } })).to.equal(0);
    }));

  for (const [present, asked, made] of [
    [498, 2, 2],
    [499, 2, 0],
    [499, 1, 1],
    [500, 2, 0],
  ] as const)
    it(`with ${present} channels, ${made} of ${asked} new ones are made`, async () => {
      await fillTo(present);
      const answer = await call('community', asked === 2 ? newChannels : { ...newChannels, rulesChannelId: server.general });
      expect(answer.status).to.equal(made ? 200 : 400);
      if (!made) expect(answer.body).to.have.property('code', 'too_many_channels');
      expect(await fetchSettings()).to.include(made ? { community: true } : off);
      expect(await countStored()).to.equal(present + made);
    });

  describe('a crash of the process', () => {
    // A crash also ends the caller's connection, so these tests do not depend on the response.
    const crash = (): Promise<never> => Promise.reject(new mongo.MongoNetworkError('a crash'));
    const age = () =>
      api.platform.db.channels.updateMany({ heldAt: { $exists: true } }, { $set: { heldAt: new Date(Date.now() - 31_000) } });

    it('after the channels are made: nobody sees them, and the sweep deletes them', async () => {
      beforeNextQuery(api.platform.db.servers, 'updateOne', crash);
      expect((await call('community', newChannels)).status).to.equal(503);
      expect(await countStored()).to.equal(3);
      expect(await listChannels()).to.have.length(1);
      expect(await fetchSettings()).to.include(off);
      await sweepHiddenChannels(api.platform);
      expect(await countStored(), 'the request may still be running').to.equal(3);
      await age();
      await sweepHiddenChannels(api.platform);
      await sweepHiddenChannels(api.platform);
      expect(await countStored()).to.equal(1);
      expect((await call('community', newChannels)).status).to.equal(200);
    });

    it('after the channels are chosen: both stay, and the sweep shows them', async () => {
      beforeNextQuery(api.platform.db.servers, 'findOneAndUpdate', crash);
      expect((await call('community', newChannels)).status).to.equal(503);
      const { rulesChannelId, updatesChannelId, community } = await fetchSettings();
      expect(community).to.equal(true);
      expect(await listChannels()).to.have.length(1);
      await age();
      await Promise.all([sweepHiddenChannels(api.platform), sweepHiddenChannels(api.platform)]);
      const shown = await listChannels();
      expect(shown.map((one) => one.id)).to.have.members([server.general, rulesChannelId, updatesChannelId]);
      expect(new Set(shown.map((one) => one.position)).size).to.equal(3);
      const created = await api.platform.db.channels.find({ serverId: server.id, name: { $ne: 'general' } }).toArray();
      expect(created.map(({ outbox }) => outbox?.map(({ name }) => name))).to.deep.equal([['CHANNEL_CREATE'], ['CHANNEL_CREATE']]);
    });
  });

  describe('a chosen channel that is deleted', () => {
    const remove = (id: string) => send(api, 204, owner, 'DELETE', `/api/channels/${id}`);

    for (const [when, method] of [
      ['just before the settings are written', 'updateOne'],
      ['just after the settings are written', 'findOneAndUpdate'],
    ] as const)
      it(`${when} leaves its field null`, async () => {
        const channel = await makeChannel(api, owner, server.id);
        beforeNextQuery(api.platform.db.servers, method, () => remove(channel.id));
        const { status, body } = await call('community', { ...newChannels, updatesChannelId: channel.id });
        expect(status).to.equal(200);
        expect(body.updatesChannelId).to.equal(null);
        expect((await fetchSettings()).updatesChannelId).to.equal(null);
        expect(await listChannels()).to.have.length(2);
      });

    it('concurrently with the PUT is never left chosen (20 rounds)', () =>
      times(20, async () => {
        const channel = await makeChannel(api, owner, server.id);
        const body = { enabled: true, rulesChannelId: channel.id, updatesChannelId: server.general };
        const [put] = await Promise.all([call('community', body), remove(channel.id)]);
        expect(put.status).to.be.oneOf([200, 400]);
        expect((await fetchSettings()).rulesChannelId).to.equal(null);
      }));
  });

  describe('listing a server', () => {
    beforeEach(async () => {
      await turnOn();
      await call('discovery', { description: 'x' });
    });
    const list = { listed: true };

    const between: [code: string, what: string, act: () => Promise<unknown>, body: object, after: object][] = [
      ['team_server', 'a server type is granted', () => grantServerTypes(api.platform, server.id, ['staff']), list, { listed: false }],
      ['invalid_request', 'Community is turned off', () => call('community', { enabled: false }), list, { listed: false }],
      ['invalid_request', 'the description is cleared', () => call('discovery', { description: '' }), list, { listed: false }],
      ['invalid_request', 'the server is listed', () => call('discovery', list), { description: '' }, { listed: true, description: 'x' }],
    ];
    for (const [code, what, act, body, after] of between)
      it(`400 ${code} for ${JSON.stringify(body)} when ${what} just before the write`, async () => {
        beforeNextQuery(api.platform.db.servers, 'updateOne', act);
        await refused(api, [400, code], owner, 'PUT', path('discovery'), body);
        expect((await fetchSettings()).discovery).to.include(after);
      });

    it('concurrently with these changes never lists it without its conditions (20 rounds)', () =>
      times(20, async (round) => {
        const change = [
          () => grantServerTypes(api.platform, server.id, round % 4 ? ['developer'] : []),
          () => call('community', { enabled: false }),
          () => call('discovery', { description: '' }),
        ][round % 3];
        await Promise.all([call('discovery', list), change?.(), call('discovery', { ...list, tags: [`t${round}`] })]);
        const { community, discovery } = await fetchSettings();
        const { types } = await fetchServer();
        if (discovery.listed) expect([community, discovery.description, types.length]).to.deep.equal([true, 'x', 0]);
        await grantServerTypes(api.platform, server.id, []);
        await turnOn();
        await call('discovery', { listed: false, description: 'x' });
      }));
  });
});

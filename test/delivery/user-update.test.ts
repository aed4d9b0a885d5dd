import { expect } from 'chai';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import { join, makeBot, makeMember, makePerson, makeServer, openDm } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { type EventRecorder, recordEvents, startParlance } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';
import { picture } from '../images/fixtures.ts';
import { put } from '../images/picture-fixture.ts';

describe('USER_UPDATE', () => {
  const { api: parlance, owner, server, person, bot } = useServer({ person: newMember(), bot: newBot() }, { start: startParlance });

  const listen = (caller: Caller, events?: string[]): Promise<EventRecorder> => recordEvents(parlance, caller.token, events);
  const rename = (as: Caller, displayName: string): Promise<unknown> => send(parlance, 200, as, 'PATCH', '/api/users/@me', { displayName });
  const updates = ({ received }: EventRecorder, id: string): unknown[] =>
    received.flatMap(({ t, d }) => (t === 'USER_UPDATE' && d.id === id ? [d.displayName] : []));
  const outbox = async (id: string) => (await parlance.platform.db.accounts.findOne({ _id: id }))?.outbox;

  it('reaches the account, everyone who shares a server or a DM with it, and opted-in bots, once each', async () => {
    const [friend, stranger] = [await makePerson(parlance), await makePerson(parlance)];
    const otherServer = await makeServer(parlance, friend);
    const unrelatedBot = await makeBot(parlance, stranger, (await makeServer(parlance, stranger)).id);
    const guest = await makePerson(parlance);
    await join(parlance, owner, server.id, guest);
    await join(parlance, friend, otherServer.id, guest);
    await openDm(parlance, guest, friend);
    const receivers = await Promise.all([listen(guest), listen(owner), listen(friend), listen(bot, ['USER_UPDATE'])]);
    const others = await Promise.all([listen(stranger), listen(unrelatedBot, ['USER_UPDATE']), listen(bot)]);
    await rename(guest, 'Grace');
    const shown = { id: guest.id, username: guest.username, displayName: 'Grace', avatarUrl: null, tag: null };
    for (const recorder of receivers)
      expect((await recorder.waitFor(({ t, d }) => t === 'USER_UPDATE' && d.id === guest.id)).d).to.deep.equal(shown);
    // A second change marks the end of the events of the first.
    await rename(guest, 'Hopper');
    for (const recorder of receivers) {
      await recorder.waitFor(({ d }) => d.displayName === 'Hopper');
      expect(updates(recorder, guest.id)).to.deep.equal(['Grace', 'Hopper']);
    }
    for (const recorder of others) expect(updates(recorder, guest.id)).to.deep.equal([]);
  });

  it('is sent for avatars, for names and icons of bots, and for tags', async () => {
    const [hers, its] = [await listen(owner), await listen(bot, ['USER_UPDATE'])];
    const png = await picture().png().toBuffer();
    const seen = (id: string, part: string, value: unknown) =>
      Promise.all([hers, its].map((recorder) => recorder.waitFor(({ t, d }) => t === 'USER_UPDATE' && d.id === id && d[part] === value)));
    const { status, body } = await put(parlance.url, '/api/users/@me/avatar', person.as, png);
    expect(status, JSON.stringify(body)).to.equal(200);
    await seen(person.id, 'avatarUrl', body.url);
    await send(parlance, 204, person, 'DELETE', '/api/users/@me/avatar');
    await seen(person.id, 'avatarUrl', null);
    await send(parlance, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'Clerk' });
    await seen(bot.id, 'username', 'Clerk');
    const icon = await put(parlance.url, `/api/applications/${bot.applicationId}/icon`, owner.as, png);
    expect(icon.status, JSON.stringify(icon.body)).to.equal(200);
    await seen(bot.id, 'avatarUrl', icon.body.url);
    await verifyBot(parlance.platform, bot.applicationId);
    await seen(bot.id, 'tag', 'verified_bot');
    await grantTag(parlance.platform, person.id, 'official');
    await seen(person.id, 'tag', 'official');
  });

  it('stays pending until it is sent, also when the job is lost or the worker dies; several changes send one', async () => {
    const recorder = await listen(owner);
    const quiet = await makeMember(parlance, owner, server.id);
    const waitForEmptyOutbox = (id: string): Promise<void> => waitUntil(async () => !(await outbox(id)), 'the outbox is empty');
    await waitForEmptyOutbox(quiet.id);
    for (const name of ['One', 'Two', 'Three']) {
      interceptNext(parlance.platform, 'wake', async () => undefined);
      await rename(quiet, name);
    }
    expect((await outbox(quiet.id))?.map(({ name }) => name)).to.deep.equal(['USER_UPDATE']);
    await recorder.waitFor(({ d }) => d.displayName === 'Three');
    await waitForEmptyOutbox(quiet.id);
    const entry = { id: parlance.platform.ids.next(), name: 'USER_UPDATE' as const };
    for (let n = 0; n < 2; n++) {
      // As if the process had died between the event and the update of the outbox.
      await parlance.platform.db.accounts.updateOne({ _id: quiet.id }, { $set: { outbox: [entry], outboxAt: new Date() } });
      await relayEvents(parlance.worker, 'account', quiet.id);
    }
    await rename(quiet, 'Four');
    await recorder.waitFor(({ d }) => d.displayName === 'Four');
    expect(updates(recorder, quiet.id)).to.deep.equal(['Three', 'Three', 'Four']);
  });

  it('reaches a session while it reads the log', async () => {
    const guest = await makeMember(parlance, owner, server.id);
    const recorder = await listen(guest);
    const reached = new Promise((resolve, reject) => {
      interceptNext(parlance.node.platform.accessVersions, 'read', async (read) => {
        await rename(person, 'Busy');
        await recorder.waitFor(({ d }) => d.displayName === 'Busy').then(resolve, reject);
        return read();
      });
    });
    const { id } = await makeServer(parlance, guest);
    await reached;
    await recorder.waitFor(({ t, d }) => t === 'SERVER_CREATE' && d.id === id);
    expect(
      recorder.received.filter(({ t, d }) => t === 'USER_UPDATE' || (t === 'SERVER_CREATE' && d.id === id)).map(({ t }) => t),
    ).to.deep.equal(['USER_UPDATE', 'SERVER_CREATE']);
  });
});

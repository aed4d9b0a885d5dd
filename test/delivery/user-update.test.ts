import { expect } from 'chai';
import { relay } from '../../lib/domain/events/relay.ts';
import { grantTag, verifyBot } from '../../lib/domain/servers/grants.ts';
import { around } from '../harness/around.ts';
import { type Bot, type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { picture } from '../images/fixtures.ts';
import { put } from '../images/picture-fixture.ts';

describe('USER_UPDATE', function () {
  this.timeout(60_000);
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  let person: Caller;
  let bot: Bot;
  const ears: Ear[] = [];
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    person = await makeMember(whole, owner, server.id);
    bot = await makeBot(whole, owner, server.id);
  });
  after(async () => {
    await Promise.all(ears.map(({ client }) => client.close()));
    await whole.close();
  });

  const listen = async (caller: Caller, events?: string[]): Promise<Ear> => {
    const ear = await listenAs(whole, caller.token, events);
    ears.push(ear);
    return ear;
  };
  const rename = (as: Caller, displayName: string): Promise<unknown> => send(whole, 200, as, 'PATCH', '/api/users/@me', { displayName });
  const updates = ({ heard }: Ear, id: string): unknown[] =>
    heard.flatMap(({ t, d }) => (t === 'USER_UPDATE' && d.id === id ? [d.displayName] : []));
  const outbox = async (id: string) => (await whole.platform.db.accounts.findOne({ _id: id }).lean())?.ob;

  it('reaches who shares a server or a DM with the account and its own sessions, each once, and bots that ask for it', async () => {
    const [friend, stranger] = [await makePerson(whole), await makePerson(whole)];
    const away = await makeServer(whole, friend);
    const lone = await makeBot(whole, stranger, (await makeServer(whole, stranger)).id);
    const guest = await makePerson(whole);
    for (const home of [server, away]) {
      const { code } = await send<{ code: string }>(
        whole,
        201,
        home === server ? owner : friend,
        'POST',
        `/api/servers/${home.id}/invites`,
        {},
      );
      await send(whole, 200, guest, 'POST', `/api/invites/${code}`);
    }
    await send(whole, 201, guest, 'POST', '/api/users/@me/channels', { recipientId: friend.id });
    const receivers = await Promise.all([listen(guest), listen(owner), listen(friend), listen(bot, ['USER_UPDATE'])]);
    const others = await Promise.all([listen(stranger), listen(lone, ['USER_UPDATE']), listen(bot)]);
    await rename(guest, 'Grace');
    const shown = { id: guest.id, username: guest.username, displayName: 'Grace', avatarUrl: null, tag: null };
    for (const ear of receivers) expect((await ear.hears(({ t, d }) => t === 'USER_UPDATE' && d.id === guest.id)).d).to.deep.equal(shown);
    // A second one ends what the first may have sent.
    await rename(guest, 'Hopper');
    for (const ear of receivers) {
      await ear.hears(({ d }) => d.displayName === 'Hopper');
      expect(updates(ear, guest.id)).to.deep.equal(['Grace', 'Hopper']);
    }
    for (const ear of others) expect(updates(ear, guest.id)).to.deep.equal([]);
  });

  it('tells of avatars, of bots’ names and icons, and of tags', async () => {
    const [hers, its] = [await listen(owner), await listen(bot, ['USER_UPDATE'])];
    const png = await picture().png().toBuffer();
    const seen = (id: string, part: string, value: unknown) =>
      Promise.all([hers, its].map((ear) => ear.hears(({ t, d }) => t === 'USER_UPDATE' && d.id === id && d[part] === value)));
    const { body } = await put(whole.url, '/api/users/@me/avatar', person.as, png);
    await seen(person.id, 'avatarUrl', body.url);
    await send(whole, 204, person, 'DELETE', '/api/users/@me/avatar');
    await seen(person.id, 'avatarUrl', null);
    await send(whole, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'Clerk' });
    await seen(bot.id, 'username', 'Clerk');
    const icon = await put(whole.url, `/api/applications/${bot.applicationId}/icon`, owner.as, png);
    await seen(bot.id, 'avatarUrl', icon.body.url);
    await verifyBot(whole.platform, bot.applicationId);
    await seen(bot.id, 'tag', 'verified_bot');
    await grantTag(whole.platform, person.id, 'official');
    await seen(person.id, 'tag', 'official');
  });

  it('is kept with the change until it was sent, also when the job is lost or the worker dies over it; several are one', async () => {
    const ear = await listen(owner);
    const quiet = await makeMember(whole, owner, server.id);
    const drained = async (id: string): Promise<void> => {
      while (await outbox(id)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await drained(quiet.id);
    for (const name of ['One', 'Two', 'Three']) {
      around(whole.platform, 'nudge', async () => undefined);
      await rename(quiet, name);
    }
    expect((await outbox(quiet.id))?.map(({ name }) => name)).to.deep.equal(['USER_UPDATE']);
    await ear.hears(({ d }) => d.displayName === 'Three');
    await drained(quiet.id);
    const entry = { id: whole.platform.ids.next(), name: 'USER_UPDATE' as const };
    for (let n = 0; n < 2; n++) {
      // As if the process had died between the event and the update of the outbox.
      await whole.platform.db.accounts.collection.updateOne({ _id: quiet.id as never }, { $set: { ob: [entry], obAt: new Date() } });
      await relay(whole.worker, 'account', quiet.id);
    }
    await rename(quiet, 'Four');
    await ear.hears(({ d }) => d.displayName === 'Four');
    expect(updates(ear, quiet.id)).to.deep.equal(['Three', 'Three', 'Four']);
  });

  it('reaches a session also while it reads the log', async () => {
    const guest = await makeMember(whole, owner, server.id);
    const ear = await listen(guest);
    const reached = new Promise((resolve, reject) => {
      around(whole.node.platform.versions, 'read', async (read) => {
        await rename(person, 'Busy');
        await ear.hears(({ d }) => d.displayName === 'Busy').then(resolve, reject);
        return read();
      });
    });
    const { id } = await makeServer(whole, guest);
    await reached;
    await ear.hears(({ t, d }) => t === 'SERVER_CREATE' && d.id === id);
    expect(ear.heard.filter(({ t, d }) => t === 'USER_UPDATE' || (t === 'SERVER_CREATE' && d.id === id)).map(({ t }) => t)).to.deep.equal([
      'USER_UPDATE',
      'SERVER_CREATE',
    ]);
  });
});

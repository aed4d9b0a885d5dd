import { expect } from 'chai';
import type { Session } from '../../lib/contract/auth.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import type { Message } from '../../lib/contract/message.ts';
import { keepAccount, scheduleAccountDeletion, startDueAccountDeletions } from '../../lib/domain/accounts/deletions.ts';
import { decideMessageFiles } from '../../lib/domain/files/files.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { sweepReactions } from '../../lib/domain/messages/reaction-changes.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { LoginCodeDoc } from '../../lib/store/mongo/models/login-code.ts';
import { sha256 } from '../../lib/store/seal.ts';
import { formOf, sendBody } from '../files/fixture.ts';
import { Client } from '../gateway/client.ts';
import { collectionsOf, startTestApiWithWorker } from '../harness/api.ts';
import { join, makeApplication, makeBot, makePerson, makeServer, makeThread, openDm, password, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { findDueRemovals } from '../harness/overdue-keys.ts';
import { recordEvents, startParlance, waitForAll } from '../harness/parlance.ts';
import { type Caller, refused, send } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { picture } from '../images/fixtures.ts';
import { put } from '../images/picture-fixture.ts';

const minuteMs = 60_000;

describe('the deletion of an account', () => {
  describe('step by step', () => {
    const api = use(() => startTestApiWithWorker());
    const person = make(() => makePerson(api), { each: true });
    const friend = make(() => makePerson(api), { each: true });
    const home = make(() => makeServer(api, friend), { each: true });
    const db = make(async () => api.platform.db);

    const schedule = (messages: 'keep' | 'delete' = 'keep') => scheduleAccountDeletion(api.platform, person.id, { messages, now: true });
    /** Runs the first pass. */
    const begin = async (): Promise<void> => {
      await startDueAccountDeletions(api.worker);
      expect(await finishRemoval(api.worker, person.id)).to.be.within(30_000, minuteMs);
    };
    /** Runs the last pass, as the sweep does a minute later. */
    const end = async (): Promise<void> => {
      const back = { at: { $subtract: ['$at', minuteMs] }, nextAt: { $subtract: ['$nextAt', minuteMs] } };
      await db.removals.updateOne({ _id: person.id }, [{ $set: back }]);
      expect(await findDueRemovals(api.worker)).to.include(person.id);
      expect(await finishRemoval(api.worker, person.id)).to.equal(null);
    };
    const finishOthers = async (): Promise<void> => {
      for (const { _id } of await db.removals.find({ _id: { $ne: person.id } }).toArray()) {
        await db.removals.updateOne({ _id }, { $set: { at: new Date(0) } });
        await finishRemoval(api.worker, _id);
      }
    };
    /** The collections in which a document has the id of the person. */
    const findTraces = async (): Promise<string[]> => {
      const found = await Promise.all(
        collectionsOf(api.platform.db).map(async (one) => {
          const docs = await one.find({}).toArray();
          return docs.some((doc) => JSON.stringify(doc).includes(person.id)) ? [one.collectionName] : [];
        }),
      );
      return found.flat().sort();
    };
    const read = (channelId: string): Promise<Message[]> => send(api, 200, friend, 'GET', `/api/channels/${channelId}/messages`);

    beforeEach(async () => {
      await db.removals.deleteMany({});
      await join(api, friend, home.id, person);
    });

    it('keeps messages, shown as those of a deleted account; the username is free, and the password is unknown', async () => {
      const { id } = await postMessage(api, person, home.general, 'stays');
      const dm = await openDm(api, person, friend);
      await postMessage(api, person, dm.id, 'stays, too');
      await schedule('keep');
      await begin();
      const shown = { id: person.id, username: 'deleted', displayName: 'Deleted account', avatarUrl: null };
      expect((await read(home.general)).map((one) => [one.id, one.content, one.author])).to.deep.equal([[id, 'stays', shown]]);
      expect((await read(dm.id)).map(({ content }) => content)).to.deep.equal(['stays, too']);
      await refused(api, [401, 'unauthorized'], person, 'GET', '/api/auth/me');
      const credentials = { username: person.username, password };
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', credentials);
      const { user } = await send<Session>(api, 201, null, 'POST', '/api/auth/register', credentials);
      expect(user.id).to.not.equal(person.id);
      expect((await read(home.general)).map(({ author }) => author)).to.deep.equal([shown]);
      await end();
      await relayEvents(api.worker, 'server', home.id);
      expect(await findTraces()).to.deep.equal(['dms', 'messages']);
    });

    it('leaves nothing with `delete`: messages with files, pins and reactions, applications, servers, DMs, read positions', async () => {
      const bot = await makeBot(api, person, (await makeServer(api, person)).id);
      const thread = await makeThread(api, friend, home.general);
      const dm = await openDm(api, person, friend);
      const withBot = await openDm(api, person, bot);
      const posted = await Promise.all(
        [home.general, thread.id, dm.id, withBot.id].map((channelId) => postMessage(api, person, channelId)),
      );
      const form = formOf({ content: 'file' }, [{ name: 'a.txt', bytes: Buffer.from('bytes'), type: 'text/plain' }]);
      await sendBody(`${api.url}/api/channels/${home.general}/messages`, person.as, form);
      const path = `/api/channels/${home.general}/messages/${posted[0]?.id}`;
      await send(api, 204, friend, 'PUT', `/api/channels/${home.general}/pins/${posted[0]?.id}`);
      await send(api, 204, friend, 'PUT', `${path}/reactions/👍`);
      const { id: kept } = await postMessage(api, friend, home.general, 'of somebody else');
      await send(api, 204, person, 'PUT', `/api/channels/${home.general}/read`, { messageId: kept });
      const { storedBytes } = (await db.servers.findOne({ _id: home.id })) ?? {};
      expect(storedBytes).to.equal(5);
      await db.accounts.updateOne({ _id: person.id }, { $set: { deletion: { at: new Date(0), messages: 'delete' } } });
      await begin();
      for (const channelId of [home.general, thread.id, dm.id]) await relayEvents(api.worker, 'channel', channelId);
      await end();
      await finishOthers();
      await relayEvents(api.worker, 'server', home.id);
      await sweepReactions(api.worker);
      for (const { messageId } of await db.files.find({}).toArray()) await decideMessageFiles(api.worker, messageId);
      expect((await read(home.general)).map(({ id }) => id)).to.deep.equal([kept]);
      expect((await read(thread.id)).concat(await read(dm.id))).to.deep.equal([]);
      expect(await findTraces()).to.deep.equal(['dms']);
      expect((await db.servers.findOne({ _id: home.id }))?.storedBytes).to.equal(0);
      expect(await db.dms.countDocuments({ userIds: bot.id })).to.equal(0);
    });

    it('removes what was under way: a session, a code, a membership, an application, a server, a post and a read position', async () => {
      await schedule('delete');
      const doc = (await db.accounts.findOne({ _id: person.id })) ?? expect.fail();
      await begin();
      // Requests that had passed their checks before the deletion.
      await db.accounts.insertOne(doc);
      const [_id = ''] = person.token.split('.');
      const times = { createdAt: new Date(), expiresAt: new Date(Date.now() + minuteMs) };
      await db.tokens.insertOne({ _id, accountId: person.id, kind: 'session', hash: sha256(person.token), ...times });
      await join(api, friend, home.id, person);
      await postMessage(api, person, home.general, 'late');
      await makeApplication(api, person);
      await makeServer(api, person);
      await db.loginCodes.insertOne({ _id: 'late', accountId: person.id, slot: 0 } as LoginCodeDoc);
      await db.accounts.deleteOne({ _id: person.id });
      await end();
      await finishOthers();
      await relayEvents(api.worker, 'channel', home.general);
      await relayEvents(api.worker, 'server', home.id);
      expect(await findTraces()).to.deep.equal([]);
    });

    it('a login at the moment of the deletion leaves no session', async () => {
      await schedule();
      await startDueAccountDeletions(api.worker);
      beforeNextQuery(db.tokens, 'insertOne', () => finishRemoval(api.worker, person.id));
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username: person.username, password });
      expect(await db.tokens.countDocuments({ accountId: person.id })).to.equal(0);
    });

    it('a cancellation before it begins keeps everything, and one after it is refused', async () => {
      await schedule('delete');
      await startDueAccountDeletions(api.worker);
      expect((await keepAccount(api.platform, person.id)).isChanged).to.equal(true);
      expect(await finishRemoval(api.worker, person.id)).to.equal(null);
      expect(await db.removals.countDocuments({ _id: person.id })).to.equal(0);
      await send(api, 200, person, 'GET', '/api/auth/me');
      await schedule('keep');
      await startDueAccountDeletions(api.worker);
      await db.accounts.updateOne({ _id: person.id }, { $set: { 'deletion.begun': true } });
      const refusal = await keepAccount(api.platform, person.id).catch((error: unknown) => error);
      expect(refusal).to.include({ code: 'invalid_request' });
      await begin();
    });

    it('before the time is over, nothing begins', async () => {
      await scheduleAccountDeletion(api.platform, person.id, {});
      await startDueAccountDeletions(api.worker);
      expect(await db.removals.countDocuments({})).to.equal(0);
    });

    it('goes on for a suspended account, and with several passes at once', async () => {
      await db.accounts.updateOne({ _id: person.id }, { $set: { suspendedAt: new Date() } });
      await postMessage(api, friend, home.general);
      await schedule('delete');
      await Promise.all([startDueAccountDeletions(api.worker), startDueAccountDeletions(api.worker)]);
      await Promise.all([1, 2, 3].map(() => finishRemoval(api.worker, person.id)));
      await end();
      await relayEvents(api.worker, 'server', home.id);
      expect(await findTraces()).to.deep.equal([]);
    });

    it('another worker begins at the same moment: both go on', async () => {
      await schedule();
      await startDueAccountDeletions(api.worker);
      beforeNextQuery(api.worker.db.accounts, 'findOneAndUpdate', () => finishRemoval(api.worker, person.id));
      expect(await finishRemoval(api.worker, person.id)).to.be.within(30_000, minuteMs);
      await end();
    });

    it('becomes owner of a server at the same moment: the server is deleted', async () => {
      await schedule();
      await startDueAccountDeletions(api.worker);
      const { servers } = db;
      beforeNextQuery(api.worker.db.members, 'findOneAndDelete', () =>
        servers.updateOne({ _id: home.id }, { $set: { ownerId: person.id } }),
      );
      await finishRemoval(api.worker, person.id);
      expect(await servers.countDocuments({ _id: home.id })).to.equal(0);
    });
  });

  describe('with workers', () => {
    const api = use(() => startParlance({ ACCOUNT_DELETION_DAYS: '0' }));

    it('tells everyone at once: sockets close, members and messages go, names change', async () => {
      const [person, friend, pen] = [await makePerson(api), await makePerson(api), await makePerson(api)];
      const home = await makeServer(api, friend);
      await join(api, friend, home.id, person);
      const penPals = await makeServer(api, pen);
      await join(api, pen, penPals.id, person);
      const dm = await openDm(api, person, pen);
      await send(api, 204, person, 'DELETE', `/api/users/@me/servers/${penPals.id}`);
      const bot = await makeApplication(api, person, undefined, true);
      await send(api, 201, friend, 'POST', `/api/applications/${bot.applicationId}/authorize`, { serverId: home.id, permissions: 0 });
      const ids = [(await postMessage(api, person, home.general)).id, (await postMessage(api, person, home.general)).id];
      const [theirs, pens] = [await recordEvents(api, friend.token), await recordEvents(api, pen.token)];
      const connect = async ({ token }: Caller): Promise<Client> => {
        const socket = new Client(Number(new URL(api.gatewayUrl).port));
        await socket.identify(token);
        return socket;
      };
      const sockets = await Promise.all([person, bot].map(connect));
      await put(api.url, '/api/users/@me/avatar', person.as, await picture().png().toBuffer());
      await send(api, 200, person, 'POST', '/api/users/@me/deletion', { password, messages: 'delete' });
      const shown = { id: person.id, username: 'deleted', displayName: 'Deleted account', avatarUrl: null, tag: null };
      const renamed = await waitForAll([theirs, pens], ({ t, d }) => t === 'USER_UPDATE' && d.id === person.id && d.username === 'deleted');
      for (const { d } of renamed) expect(d).to.deep.equal(shown);
      for (const id of ids) await theirs.waitFor(({ t, d }) => t === 'MESSAGE_DELETE' && d.id === id);
      for (const { id } of [person, bot]) await theirs.waitFor(({ t, d }) => t === 'MEMBER_REMOVE' && d.userId === id);
      expect(await Promise.all(sockets.map(({ closed }) => closed))).to.deep.equal([4004, 4004]);
      await waitUntil(async () => (await api.platform.db.files.countDocuments({})) === 0, 'the deletion of the avatar');
      expect(await send<Message[]>(api, 200, friend, 'GET', `/api/channels/${home.general}/messages`)).to.deep.equal([]);
      const recipients = (await send<DmChannel[]>(api, 200, pen, 'GET', '/api/users/@me/channels')).map(({ recipient }) => recipient);
      const { id, username, displayName } = shown;
      expect(recipients).to.deep.equal([{ id, username, displayName, status: 'offline', customStatus: null }]);
      expect(dm.recipient.id).to.equal(pen.id);
    });
  });
});

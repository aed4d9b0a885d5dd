import { expect } from 'chai';
import type { Application, NewApplication } from '../../../lib/contract/application.ts';
import type { Role } from '../../../lib/contract/server.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { type Bot, loseAnswers, makeApplication, makeBot, makePerson, unknownId } from '../../harness/factories.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newPerson, useServer } from '../../harness/use.ts';

describe('applications', () => {
  const { api, owner, server, other } = useServer({ other: newPerson() });
  const pathOf = (bot: Bot, tail = ''): string => `/api/applications/${bot.applicationId}${tail}`;

  describe('POST /api/applications', () => {
    it('201 with bot, token and signing secret; private by default', async () => {
      const made = await send<NewApplication>(api, 201, owner, 'POST', '/api/applications', { name: ' Herald ', description: 'Calls out' });
      expect(made).to.deep.include({ name: 'Herald', description: 'Calls out', public: false, inDirectory: false, iconUrl: null });
      expect(made.interactionsEndpointUrl).to.equal(null);
      expect(made.bot).to.deep.include({ username: 'Herald', displayName: 'Herald', tag: 'bot' });
      expect(made.signingSecret).to.match(/^[\w-]{43}$/);
      expect((await send<Me>(api, 200, { ...owner, as: `Bot ${made.token}` }, 'GET', '/api/auth/me')).id).to.equal(made.bot.id);
      const { token: _shownOnce, ...rest } = made;
      expect(await send(api, 200, owner, 'GET', `/api/applications/${made.id}`)).to.deep.equal(rest);
    });

    it('400 invalid_request without a name', () => refused(api, [400, 'invalid_request'], owner, 'POST', '/api/applications', {}));

    it('400 too_many_applications beyond 50, of 60 concurrent requests; one more after a deletion', async () => {
      const person = await makePerson(api);
      const create = () => api.call<NewApplication>('POST', '/api/applications', { as: person.as, body: { name: 'x' } });
      const answers = await inParallel(60, create);
      expect(tally(answers)).to.deep.equal({ 201: 50, 400: 10 });
      expect(answers.find((one) => one.status === 400)?.body).to.have.property('code', 'too_many_applications');
      const list = await send<Application[]>(api, 200, person, 'GET', '/api/applications');
      expect(list.map((one) => one.id)).to.deep.equal(list.map((one) => one.id).toSorted());
      expect(list).to.have.length(50);
      await send(api, 204, person, 'DELETE', `/api/applications/${list[7]?.id}`);
      expect(tally(await Promise.all([create(), create()]))).to.deep.equal({ 201: 1, 400: 1 });
    });

    it('the same Idempotency-Key makes one application; repeated after a crash it returns a valid token', async () => {
      const options = { as: owner.as, body: { name: 'once' }, headers: { 'Idempotency-Key': 'k' } };
      const first = await api.call<NewApplication>('POST', '/api/applications', options);
      expect((await api.call('POST', '/api/applications', options)).body).to.deep.equal(first.body);
      const { accounts, tokens, applications } = api.platform.db;
      await accounts.deleteOne({ _id: first.body.bot.id });
      await tokens.deleteMany({ accountId: first.body.bot.id });
      await loseAnswers(api);
      const again = await api.call<NewApplication>('POST', '/api/applications', options);
      expect([again.status, again.body.id]).to.deep.equal([201, first.body.id]);
      await send(api, 200, { ...owner, as: `Bot ${again.body.token}` }, 'GET', '/api/auth/me');
      expect(await applications.countDocuments({ name: 'once' })).to.equal(1);
    });
  });

  describe('GET, PATCH, DELETE /api/applications/{applicationId}, POST …/token, …/signing-secret', () => {
    it('403 not_owner for another person, 403 bots_not_allowed for the bot, 404 for an unknown or malformed id, 401 without a credential', async () => {
      const bot = await makeApplication(api, owner, 'guarded', true);
      for (const [method, tail, body] of [
        ['GET', ''],
        ['PATCH', '', { name: 'x' }],
        ['POST', '/token'],
        ['POST', '/signing-secret'],
        ['DELETE', ''],
      ] as const) {
        await refused(api, [403, 'not_owner'], other, method, pathOf(bot, tail), body);
        await refused(api, [403, 'bots_not_allowed'], bot, method, pathOf(bot, tail), body);
        await refused(api, [401, 'unauthorized'], null, method, pathOf(bot, tail), body);
        for (const id of [unknownId, 'x']) await refused(api, [404, 'not_found'], owner, method, `/api/applications/${id}${tail}`, body);
      }
    });

    it('PATCH: a new name also changes the bot’s username and display name and the names of its own roles', async () => {
      const bot = await makeBot(api, owner, server.id);
      const changed = await send<Application>(api, 200, owner, 'PATCH', pathOf(bot), { name: ' Crier ', description: 'd' });
      expect(changed).to.deep.include({ name: 'Crier', description: 'd', public: false });
      expect(changed.bot).to.deep.include({ username: 'Crier', displayName: 'Crier' });
      expect((await send<Me>(api, 200, bot, 'GET', '/api/auth/me')).username).to.equal('Crier');
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/roles`);
      expect(roles.find((role) => role.id === bot.roleId)?.name).to.equal('Crier');
      expect(roles.filter((role) => role.name === 'Crier')).to.have.length(1);
    });

    it('a new token replaces the old one; after 10 concurrent resets one token is valid', async () => {
      const bot = await makeApplication(api, owner);
      const answers = await inParallel(10, () => api.call<{ token: string }>('POST', pathOf(bot, '/token'), { as: owner.as }));
      expect(tally(answers)).to.deep.equal({ 200: 10 });
      const tokens = [bot.token, ...answers.map((one) => one.body.token)];
      const uses = await Promise.all(tokens.map((token) => api.call('GET', '/api/auth/me', { as: `Bot ${token}` })));
      expect(tally(uses)).to.deep.equal({ 200: 1, 401: 10 });
    });

    it('a new signing secret replaces the old one', async () => {
      const bot = await makeApplication(api, owner);
      const { signingSecret } = await send<Application>(api, 200, owner, 'POST', pathOf(bot, '/signing-secret'));
      expect(signingSecret).to.not.equal(bot.signingSecret);
      expect((await send<Application>(api, 200, owner, 'GET', pathOf(bot))).signingSecret).to.equal(signingSecret);
    });

    it('DELETE 204: the bot’s token is 401, and the application and the bot are gone', async () => {
      const bot = await makeBot(api, owner, server.id);
      await send(api, 204, owner, 'DELETE', pathOf(bot));
      await refused(api, [401, 'unauthorized'], bot, 'GET', '/api/auth/me');
      await refused(api, [404, 'not_found'], owner, 'GET', pathOf(bot));
      await refused(api, [404, 'not_found'], owner, 'GET', `/api/servers/${server.id}/members/${bot.id}`);
    });
  });
});

// Tests of applications: their fields and secrets, the App Directory, adding their bots to servers, and the commands of their bots.
import { expect } from 'chai';
import type { Application, NewApplication } from '../../../lib/contract/application.ts';
import type { Role } from '../../../lib/contract/server.ts';
import type { Me } from '../../../lib/contract/user.ts';
import type { Answer } from '../../harness/api.ts';
import { loseAnswers, makeApplication, makePerson } from '../../harness/factories.ts';
import { beforeNextQuery, interceptNext } from '../../harness/intercept.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newApplication, newBot, newPerson, useServer } from '../../harness/use.ts';

const emoji = '\u{1f9ea}';

describe('applications', () => {
  const { api, owner, server, bot, renamed, other } = useServer({ bot: newApplication(), renamed: newBot(), other: newPerson() });

  const path = (): string => `/api/applications/${bot.applicationId}`;
  const patch = (body: unknown): Promise<Application> => send(api, 200, owner, 'PATCH', path(), body);
  const read = (): Promise<Application> => send(api, 200, owner, 'GET', path());

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

  it('a new token replaces the old one; after 10 concurrent resets one token is valid', async () => {
    const { applicationId, token: old } = await makeApplication(api, owner);
    const reset = () => api.call<{ token: string }>('POST', `/api/applications/${applicationId}/token`, { as: owner.as });
    const answers = await inParallel(10, reset);
    expect(tally(answers)).to.deep.equal({ 200: 10 });
    const tokens = [old, ...answers.map((one) => one.body.token)];
    const uses = await Promise.all(tokens.map((token) => api.call('GET', '/api/auth/me', { as: `Bot ${token}` })));
    expect(tally(uses)).to.deep.equal({ 200: 1, 401: 10 });
  });

  it('the list has only the caller’s own, without tokens', async () => {
    const { applicationId } = await makeApplication(api, other);
    const list = await send<Application[]>(api, 200, other, 'GET', '/api/applications');
    expect(list).to.deep.equal([await send(api, 200, other, 'GET', `/api/applications/${applicationId}`)]);
    expect(list[0]).to.not.have.property('token');
  });

  it('POST and PATCH accept these names and descriptions, and store them trimmed and well-formed', async () => {
    const accepted: readonly [field: 'name' | 'description', given: string, stored?: string][] = [
      ['name', 'x'],
      ['name', emoji.repeat(32)],
      ['name', ' \t Herald \u00a0', 'Herald'],
      ['name', 'Town  Crier'],
      ['name', '$where'],
      ['name', 'x\ud83e', 'x\ufffd'],
      ['description', ''],
      ['description', emoji.repeat(300)],
      ['description', 'one\ntwo\r\nthree'],
      ['description', '\udd2ax', '\ufffdx'],
    ];
    for (const [field, given, stored = given] of accepted) {
      const body = { name: 'x', [field]: given };
      const made = await send<NewApplication>(api, 201, owner, 'POST', '/api/applications', body);
      expect(made).to.deep.include({ name: 'x', [field]: stored });
      const { token: _shownOnce, ...rest } = made;
      expect(await send(api, 200, owner, 'GET', `/api/applications/${made.id}`)).to.deep.equal(rest);
      await send(api, 204, owner, 'DELETE', `/api/applications/${made.id}`);
      expect(await patch(body)).to.deep.include({ name: 'x', [field]: stored });
    }
  });

  it('400 invalid_request of POST and PATCH for other names and descriptions, and nothing changes', async () => {
    const before = await read();
    const made = await api.platform.db.applications.countDocuments({});
    for (const [field, ...values] of [
      ['name', '', 'x'.repeat(33), null, 7, ['x'], { $gt: '' }],
      ['description', 'x'.repeat(301), null, 7],
    ] as const)
      for (const value of values)
        for (const [method, to] of [
          ['POST', '/api/applications'],
          ['PATCH', path()],
        ] as const) {
          const { errors } = await refused(api, [400, 'invalid_request'], owner, method, to, { name: 'x', [field]: value });
          const paths = errors?.map((one) => one.path);
          expect(paths, JSON.stringify(value)).to.deep.equal([`/${field}`]);
        }
    await refused(api, [400, 'invalid_request'], owner, 'POST', '/api/applications', {});
    for (const flag of ['public', 'inDirectory'])
      for (const value of [null, 1, 'true']) {
        const body = { name: 'other', description: 'other', [flag]: value };
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(), body);
      }
    expect(await read()).to.deep.equal(before);
    expect(await api.platform.db.applications.countDocuments({})).to.equal(made);
  });

  it('ignores fields that a caller may not set, such as the owner, the bot and the signing secret', async () => {
    const ids = { id: '1', _id: '1', ownerId: '1', botId: '1', slot: 99 };
    const foreign = { ...ids, createdAt: '2000-01-01', signingSecret: 'mine', iconUrl: 'x', token: 'x', bot: { tag: 'verified_bot' } };
    const made = await send<NewApplication>(api, 201, owner, 'POST', '/api/applications', {
      ...foreign,
      name: 'made',
      public: true,
      inDirectory: true,
      interactionsEndpointUrl: 'https://bot.example/',
    });
    expect(made).to.include({ public: false, inDirectory: false, interactionsEndpointUrl: null, iconUrl: null });
    expect(made.bot.tag).to.equal('bot');
    const { token: _shownOnce, ...rest } = made;
    const to = `/api/applications/${made.id}`;
    expect(await send(api, 200, owner, 'PATCH', to, foreign)).to.deep.equal(rest);
    const { ownerId, signingSecret } = (await api.platform.db.applications.findOne({ _id: made.id })) ?? expect.fail();
    expect([ownerId, signingSecret.length > 60]).to.deep.equal([owner.id, true]);
  });

  it('PATCH {} and a repeated PATCH change nothing; omitted fields keep their values', async () => {
    const first = await patch({ name: 'Same', description: 'same', public: true });
    expect(await patch({})).to.deep.equal(first);
    expect(await patch({ name: 'Same', description: 'same', public: true })).to.deep.equal(first);
    expect(await patch({ description: 'new' })).to.deep.equal({ ...first, description: 'new' });
  });

  it('two concurrent renames leave the same name for the application, its bot and the bot’s role', async () => {
    const to = `/api/applications/${renamed.applicationId}`;
    const rename = (next: string): Promise<Application> => send(api, 200, owner, 'PATCH', to, { name: next });
    const names = async (): Promise<(string | undefined)[]> => {
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/roles`);
      const { name: its, bot: shown } = await send<Application>(api, 200, owner, 'GET', to);
      const me = await send<Me>(api, 200, renamed, 'GET', '/api/auth/me');
      return [its, shown.username, shown.displayName, me.username, roles.find(({ id }) => id === renamed.roleId)?.name];
    };
    for (const [at, collection] of [api.platform.db.accounts, api.platform.db.servers].entries()) {
      const method = at === 0 ? 'updateOne' : 'updateMany';
      interceptNext(collection, method, async (real) => {
        await rename(`second ${at}`);
        return real();
      });
      await rename(`first ${at}`);
      expect(await names()).to.deep.equal(Array.from({ length: 5 }, () => `second ${at}`));
    }
    await inParallel(8, (at) => rename(`parallel ${at}`));
    expect(new Set(await names()).size).to.equal(1);
  });

  describe('public and inDirectory', () => {
    /** The states of an application as the values of `public` and `inDirectory`. */
    const states = { private: [false, false], public: [true, false], listed: [true, true] } as const;
    type State = keyof typeof states;

    const patchListing = (body: object): Promise<Answer<Application>> => api.call('PATCH', path(), { as: owner.as, body });
    const now = async (): Promise<State | null> => {
      const { public: open, inDirectory } = await read();
      return (Object.keys(states) as State[]).find((one) => states[one][0] === open && states[one][1] === inDirectory) ?? null;
    };
    const begin = async (from: State): Promise<void> => {
      const [open, inDirectory] = states[from];
      await api.platform.db.applications.updateOne({ _id: bot.applicationId }, { $set: { public: open, inDirectory } });
    };

    // Listing a private application is refused, and an application that becomes private is unlisted (docs/behavior/accounts.md#application-fields).
    for (const from of Object.keys(states) as State[])
      it(`PATCH of any of both, or none, for a ${from} application`, async () => {
        for (const open of [undefined, true, false])
          for (const inDirectory of [undefined, true, false]) {
            const body = { ...(open === undefined ? {} : { public: open }), ...(inDirectory === undefined ? {} : { inDirectory }) };
            const isOpen = open ?? states[from][0];
            await begin(from);
            if (inDirectory && !isOpen) {
              await refused(api, [400, 'not_public'], owner, 'PATCH', path(), { ...body, name: 'never', description: 'never' });
              expect(await now(), JSON.stringify(body)).to.equal(from);
              expect(await read())
                .to.not.include({ name: 'never' })
                .and.not.include({ description: 'never' });
              continue;
            }
            const isListed = isOpen && (inDirectory ?? states[from][1]);
            for (let times = 0; times < 2; times++) {
              const { status, body: shown } = await patchListing(body);
              expect([status, shown.public, shown.inDirectory], JSON.stringify(body)).to.deep.equal([200, isOpen, isListed]);
              expect(await read(), JSON.stringify(body)).to.include({ public: isOpen, inDirectory: isListed });
            }
          }
      });

    it('a listed application that becomes private and public again is not listed', async () => {
      await begin('listed');
      await patchListing({ public: false });
      await patchListing({ public: true });
      expect(await now()).to.equal('public');
    });

    // The second request runs just before the first one writes, after its reads.
    const races: readonly [from: State, first: object, between: object, status: number, to: State][] = [
      ['public', { inDirectory: true }, { public: false }, 400, 'private'],
      ['listed', { inDirectory: true }, { public: false }, 400, 'private'],
      ['public', { public: false }, { inDirectory: true }, 200, 'private'],
      ['private', { public: true }, { public: true, inDirectory: true }, 200, 'listed'],
      ['public', { public: true, inDirectory: true }, { public: false }, 200, 'listed'],
      ['private', { inDirectory: false }, { public: true, inDirectory: true }, 200, 'public'],
    ];
    for (const [from, first, between, status, to] of races)
      it(`${from} application, PATCH ${JSON.stringify(between)} during PATCH ${JSON.stringify(first)}: ${status}, ${to}`, async () => {
        await begin(from);
        beforeNextQuery(api.platform.db.applications, 'findOneAndUpdate', async () =>
          expect((await patchListing(between)).status).to.equal(200),
        );
        const answer = await patchListing(first);
        expect(answer.status).to.equal(status);
        if (status === 400) expect(answer.body).to.have.property('code', 'not_public');
        expect(await now()).to.equal(to);
      });

    it('is never listed and private after concurrent changes', async () => {
      const one = [{ public: true }, { public: false }, { inDirectory: true }, { inDirectory: false }];
      const bodies = [...one, { public: true, inDirectory: true }];
      for (let round = 0; round < 6; round++) {
        const answers = await Promise.all([...bodies, ...bodies].map(patchListing));
        for (const { status, body } of answers) {
          expect(status).to.be.oneOf([200, 400]);
          if (status === 200) expect(body.public || !body.inDirectory, JSON.stringify(body)).to.equal(true);
        }
        expect(await now()).to.not.equal(null);
      }
    });
  });
});

import { expect } from 'chai';
import type { Application, NewApplication } from '../../../lib/contract/application.ts';
import type { Role } from '../../../lib/contract/server.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { around } from '../../harness/around.ts';
import { type Bot, type Caller, makeApplication, makeBot, makePerson, makeServer, refused, send } from '../../harness/factories.ts';

const emoji = '\u{1f9ea}';
const name = (value: unknown): { name: unknown } => ({ name: value });
const description = (value: unknown): { name: string; description: unknown } => ({ name: 'x', description: value });

/** What is taken, and how it is kept. */
const taken: readonly [what: string, body: object, kept: object][] = [
  ['a name of 32 characters', name('x'.repeat(32)), name('x'.repeat(32))],
  ['a name of 32 emoji', name(emoji.repeat(32)), name(emoji.repeat(32))],
  ['a name of one character', name('x'), name('x')],
  ['a name with space around it', name(' \t Herald \u00a0'), name('Herald')],
  ['a name with space within', name('Town  Crier'), name('Town  Crier')],
  ['a name that looks like an operator', name('$where'), name('$where')],
  ['a name with half a character', name('x\ud83e'), name('x\ufffd')],
  ['a description of 300 characters', description('x'.repeat(300)), description('x'.repeat(300))],
  ['a description of 300 emoji', description(emoji.repeat(300)), description(emoji.repeat(300))],
  ['a description of several lines', description('one\ntwo\r\nthree'), description('one\ntwo\r\nthree')],
  ['an empty description', description(''), description('')],
  ['a description with half a character', description('\udd2ax'), description('\ufffdx')],
];

const refusedBodies: readonly [what: string, body: object, path: string][] = [
  ['an empty name', name(''), '/name'],
  ['a blank name', name(' \t '), '/name'],
  ['a name of 33 characters', name('x'.repeat(33)), '/name'],
  ['a name of 33 emoji', name(emoji.repeat(33)), '/name'],
  ...['\n', '\r', '\r\n', '\u2028', '\u2029'].map((end): [string, object, string] => [
    `a name with ${JSON.stringify(end)} in it`,
    name(`a${end}b`),
    '/name',
  ]),
  ['a name that ends in a line break', name('a\n'), '/name'],
  ['null for a name', name(null), '/name'],
  ['a number for a name', name(7), '/name'],
  ['a list for a name', name(['x']), '/name'],
  ['an object for a name', name({ $gt: '' }), '/name'],
  ['a description of 301 characters', description('x'.repeat(301)), '/description'],
  ['a description of 301 emoji', description(emoji.repeat(301)), '/description'],
  ['null for a description', description(null), '/description'],
  ['a number for a description', description(7), '/description'],
];

describe('applications: their fields', () => {
  let api: TestApi;
  let owner: Caller;
  let bot: Bot;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    bot = await makeApplication(api, owner);
  });
  after(() => api.close());

  const path = (): string => `/api/applications/${bot.applicationId}`;
  const patch = (body: unknown): Promise<Application> => send(api, 200, owner, 'PATCH', path(), body);
  const read = (): Promise<Application> => send(api, 200, owner, 'GET', path());

  for (const [what, body, kept] of taken)
    it(`takes ${what}`, async () => {
      const made = await send<NewApplication>(api, 201, owner, 'POST', '/api/applications', body);
      expect(made).to.deep.include(kept);
      const { token: _shownOnce, ...rest } = made;
      expect(await send(api, 200, owner, 'GET', `/api/applications/${made.id}`)).to.deep.equal(rest);
      await send(api, 204, owner, 'DELETE', `/api/applications/${made.id}`);
      expect(await patch(body)).to.deep.include(kept);
    });

  for (const [what, body, where] of refusedBodies)
    it(`400 invalid_request for ${what}`, async () => {
      const before = await read();
      const made = await api.platform.db.applications.countDocuments({});
      for (const [method, to] of [
        ['POST', '/api/applications'],
        ['PATCH', path()],
      ] as const) {
        const { errors } = await refused(api, [400, 'invalid_request'], owner, method, to, body);
        expect(errors?.map((one) => one.path)).to.deep.equal([where]);
      }
      expect(await read()).to.deep.equal(before);
      expect(await api.platform.db.applications.countDocuments({})).to.equal(made);
    });

  for (const body of [
    { public: null },
    { public: 1 },
    { public: 'true' },
    { inDirectory: null },
    { inDirectory: 0 },
    { inDirectory: 'false' },
  ])
    it(`PATCH: 400 invalid_request for ${JSON.stringify(body)}, and nothing else of it is saved`, async () => {
      const before = await read();
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(), { ...body, name: 'other', description: 'other' });
      expect(await read()).to.deep.equal(before);
    });

  it('what is no field of a body is ignored: nobody gives themselves another owner, bot, secret or mark', async () => {
    const foreign = {
      id: '1',
      _id: '1',
      ownerId: '1',
      botId: '1',
      slot: 99,
      createdAt: '2000-01-01T00:00:00.000Z',
      signingSecret: 'mine',
      iconUrl: 'x',
      token: 'x',
      bot: { tag: 'verified_bot' },
    };
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
    const { ownerId, signingSecret } = (await api.platform.db.applications.findOne({ _id: made.id }).lean()) ?? expect.fail();
    expect([ownerId, signingSecret.length > 60]).to.deep.equal([owner.id, true]);
  });

  it('PATCH {} and a PATCH repeated change nothing; what is left out stays', async () => {
    const first = await patch({ name: 'Same', description: 'same', public: true });
    expect(await patch({})).to.deep.equal(first);
    expect(await patch({ name: 'Same', description: 'same', public: true })).to.deep.equal(first);
    expect(await patch({ description: 'new' })).to.deep.equal({ ...first, description: 'new' });
  });

  it('GET and POST /api/applications: 403 bots_not_allowed, 401; the list holds the caller’s own only', async () => {
    const other = await makePerson(api);
    const theirs = await makeApplication(api, other);
    for (const [method, body] of [['GET'], ['POST', { name: 'x' }]] as const) {
      await refused(api, [403, 'bots_not_allowed'], bot, method, '/api/applications', body);
      await refused(api, [401, 'unauthorized'], null, method, '/api/applications', body);
    }
    const list = await send<Application[]>(api, 200, other, 'GET', '/api/applications');
    expect(list).to.deep.equal([await send(api, 200, other, 'GET', `/api/applications/${theirs.applicationId}`)]);
    expect(list[0]).to.not.have.property('token');
  });

  it('renamed twice at once, by turns that cross: application, bot and own role have one name', async () => {
    const place = await makeServer(api, owner);
    const crossed = await makeBot(api, owner, place.id);
    const to = `/api/applications/${crossed.applicationId}`;
    const rename = (next: string): Promise<Application> => send(api, 200, owner, 'PATCH', to, { name: next });
    const names = async (): Promise<(string | undefined)[]> => {
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${place.id}/roles`);
      const { name: its, bot: shown } = await send<Application>(api, 200, owner, 'GET', to);
      const me = await send<Me>(api, 200, crossed, 'GET', '/api/auth/me');
      return [its, shown.username, shown.displayName, me.username, roles.find(({ id }) => id === crossed.roleId)?.name];
    };
    for (const [at, collection] of [api.platform.db.accounts.collection, api.platform.db.servers.collection].entries()) {
      const method = at === 0 ? 'updateOne' : 'updateMany';
      around(collection, method, async (real) => {
        await rename(`second ${at}`);
        return real();
      });
      await rename(`first ${at}`);
      expect(await names()).to.deep.equal(Array.from({ length: 5 }, () => `second ${at}`));
    }
    await Promise.all(Array.from({ length: 8 }, (_, at) => rename(`turn ${at}`)));
    expect(new Set(await names()).size).to.equal(1);
  });
});

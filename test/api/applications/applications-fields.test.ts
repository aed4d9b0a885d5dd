import { expect } from 'chai';
import type { Application, NewApplication } from '../../../lib/contract/application.ts';
import type { Role } from '../../../lib/contract/server.ts';
import type { Me } from '../../../lib/contract/user.ts';
import { makeApplication } from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { inParallel, refused, send } from '../../harness/requests.ts';
import { newApplication, newBot, newPerson, useServer } from '../../harness/use.ts';

const emoji = '\u{1f9ea}';
const name = (value: unknown): { name: unknown } => ({ name: value });
const description = (value: unknown): { name: string; description: unknown } => ({ name: 'x', description: value });

/** Accepted bodies, and the fields that are stored for them. */
const accepted: readonly [what: string, body: object, stored: object][] = [
  ['a name of 32 characters', name('x'.repeat(32)), name('x'.repeat(32))],
  ['a name of 32 emoji', name(emoji.repeat(32)), name(emoji.repeat(32))],
  ['a name of one character', name('x'), name('x')],
  ['a name with surrounding white space', name(' \t Herald \u00a0'), name('Herald')],
  ['a name with several spaces inside', name('Town  Crier'), name('Town  Crier')],
  ['a name that looks like a database operator', name('$where'), name('$where')],
  ['a name with half a surrogate pair', name('x\ud83e'), name('x\ufffd')],
  ['a description of 300 characters', description('x'.repeat(300)), description('x'.repeat(300))],
  ['a description of 300 emoji', description(emoji.repeat(300)), description(emoji.repeat(300))],
  ['a description of several lines', description('one\ntwo\r\nthree'), description('one\ntwo\r\nthree')],
  ['an empty description', description(''), description('')],
  ['a description with half a surrogate pair', description('\udd2ax'), description('\ufffdx')],
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
  ['a null name', name(null), '/name'],
  ['a numeric name', name(7), '/name'],
  ['a list as the name', name(['x']), '/name'],
  ['an object as the name', name({ $gt: '' }), '/name'],
  ['a description of 301 characters', description('x'.repeat(301)), '/description'],
  ['a description of 301 emoji', description(emoji.repeat(301)), '/description'],
  ['a null description', description(null), '/description'],
  ['a numeric description', description(7), '/description'],
];

describe('fields of applications', () => {
  const { api, owner, server, bot, renamed, other } = useServer({ bot: newApplication(), renamed: newBot(), other: newPerson() });

  const path = (): string => `/api/applications/${bot.applicationId}`;
  const patch = (body: unknown): Promise<Application> => send(api, 200, owner, 'PATCH', path(), body);
  const read = (): Promise<Application> => send(api, 200, owner, 'GET', path());

  for (const [what, body, stored] of accepted)
    it(`accepts ${what}`, async () => {
      const made = await send<NewApplication>(api, 201, owner, 'POST', '/api/applications', body);
      expect(made).to.deep.include(stored);
      const { token: _shownOnce, ...rest } = made;
      expect(await send(api, 200, owner, 'GET', `/api/applications/${made.id}`)).to.deep.equal(rest);
      await send(api, 204, owner, 'DELETE', `/api/applications/${made.id}`);
      expect(await patch(body)).to.deep.include(stored);
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

  const badFlags = [
    { public: null },
    { public: 1 },
    { public: 'true' },
    { inDirectory: null },
    { inDirectory: 0 },
    { inDirectory: 'false' },
  ];
  for (const body of badFlags)
    it(`PATCH: 400 invalid_request for ${JSON.stringify(body)}, and no other field is saved`, async () => {
      const before = await read();
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(), { ...body, name: 'other', description: 'other' });
      expect(await read()).to.deep.equal(before);
    });

  it('ignores fields that a caller may not set, such as the owner, the bot and the signing secret', async () => {
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
    const { ownerId, signingSecret } = (await api.platform.db.applications.findOne({ _id: made.id })) ?? expect.fail();
    expect([ownerId, signingSecret.length > 60]).to.deep.equal([owner.id, true]);
  });

  it('PATCH {} and a repeated PATCH change nothing; omitted fields keep their values', async () => {
    const first = await patch({ name: 'Same', description: 'same', public: true });
    expect(await patch({})).to.deep.equal(first);
    expect(await patch({ name: 'Same', description: 'same', public: true })).to.deep.equal(first);
    expect(await patch({ description: 'new' })).to.deep.equal({ ...first, description: 'new' });
  });

  it('GET and POST /api/applications: 403 bots_not_allowed for a bot, 401 without a credential; the list has only the caller’s own', async () => {
    const application = await makeApplication(api, other);
    for (const [method, body] of [['GET'], ['POST', { name: 'x' }]] as const) {
      await refused(api, [403, 'bots_not_allowed'], bot, method, '/api/applications', body);
      await refused(api, [401, 'unauthorized'], null, method, '/api/applications', body);
    }
    const list = await send<Application[]>(api, 200, other, 'GET', '/api/applications');
    expect(list).to.deep.equal([await send(api, 200, other, 'GET', `/api/applications/${application.applicationId}`)]);
    expect(list[0]).to.not.have.property('token');
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
});

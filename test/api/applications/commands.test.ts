import { expect } from 'chai';
import type { Command } from '../../../lib/contract/command.ts';
import { findCommandErrors } from '../../../lib/domain/applications/commands.ts';
import type { Answer } from '../../harness/api.ts';
import { word } from '../../harness/factories.ts';
import { startInteractionFixture } from '../../harness/interaction-fixture.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { tally } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';
import { commandsPath, idOf, prefix, slash } from './commands-fixture.ts';

const optionTypes = ['string', 'integer', 'number', 'boolean', 'user', 'role', 'channel'];

describe('command lists', () => {
  const fixture = use(startInteractionFixture);
  const globalPath = (): string => commandsPath(fixture.bot);
  const serverPath = (): string => commandsPath(fixture.bot, { id: fixture.seeded.serverId });
  const put = <T = Command[]>(body: unknown, path = globalPath()): Promise<Answer<T>> =>
    fixture.api.call('PUT', path, { as: fixture.asBot, body });
  const get = (path = globalPath()): Promise<Answer<Command[]>> => fixture.api.call('GET', path, { as: fixture.asBot });
  let old: Command[];
  before(async () => {
    old = (await put([slash('old')])).body;
  });
  const options = (...list: unknown[]) => [slash('a', { options: list })];

  type Row = [about: string, body: unknown, ...paths: string[]];
  const emoji = (count: number): string => '😀'.repeat(count);
  const refuses = (rows: readonly Row[]): void => {
    it('400 invalid_request for other values, and the list stays as it was', async () => {
      for (const [about, body, ...paths] of rows) {
        const answer = await put<{ code: string; errors: { path: string; message: string }[] }>(body);
        expect([answer.status, answer.body.code], about).to.deep.equal([400, 'invalid_request']);
        const found = answer.body.errors.map((error) => error.path);
        expect(found, about).to.deep.equal(paths);
        for (const { message } of answer.body.errors) expect(message, about).to.not.equal('');
        expect((await get()).body, about).to.deep.equal(old);
      }
    });
  };
  it('looks for errors only in as many commands and options as a list may have', () => {
    const many = Array.from({ length: 5_000 }, () => ({}));
    expect(findCommandErrors(many)).to.have.length(100);
    expect(findCommandErrors([{ name: 'a', description: 'd', options: many.map(() => ({ name: 'same' })) }])).to.have.length(24);
  });

  const takes = (rows: readonly [about: string, body: unknown][]): void => {
    it('200 for allowed values', async () => {
      for (const [about, body] of rows) {
        const answer = await put(body, serverPath());
        expect(answer.status, `${about} ${JSON.stringify(answer.body)}`).to.equal(200);
      }
    });
  };

  describe('the list', () => {
    refuses([
      ['not a list', { name: 'a' }, '/'],
      ['null', 'null', '/'],
      ['101 commands', Array.from({ length: 101 }, (_, at) => slash(`c${at}`)), '/'],
      ['an item that is no object', [1], '/0'],
      ['an item that is null', [slash('a'), null], '/1'],
      ['an item that is a list', [[]], '/0'],
      ['two slash commands of one name, one with its kind left out', [slash('a', { kind: 'slash' }), slash('a')], '/1/name'],
      ['two prefix commands of one name', [prefix('a'), prefix('a', { prefix: '?' })], '/1/name'],
      ['two prefix names that are equal when stored', [prefix('\ud800'), prefix('\udc00')], '/1/name'],
    ]);
    takes([
      ['the same name as slash and as prefix command', [slash('a'), prefix('a')]],
      ['prefix names that differ in case', [prefix('a'), prefix('A')]],
    ]);
  });

  describe('name', () => {
    refuses([
      ['left out', [{ description: 'x' }], '/0/name'],
      ['null', [slash(null)], '/0/name'],
      ['empty', [slash('')], '/0/name'],
      ['a number', [slash(1)], '/0/name'],
      ['33 characters', [slash('a'.repeat(33))], '/0/name'],
      ['33 emoji of a prefix command', [prefix(emoji(33))], '/0/name'],
      ['slash, a letter with an accent', [slash('é')], '/0/name'],
      ['slash, a space', [slash('a b')], '/0/name'],
      ['slash, a space around it', [slash(' a')], '/0/name'],
      ['slash, a dot', [slash('a.b')], '/0/name'],
      ['slash, a line break at its end', [slash('a\n')], '/0/name'],
      ['slash, a NUL', [slash('a\0')], '/0/name'],
      ['slash, half a surrogate pair', [slash('\ud800')], '/0/name'],
      ['prefix, a space', [prefix('a b')], '/0/name'],
      ['prefix, a no-break space', [prefix('a\u00a0b')], '/0/name'],
    ]);
    takes([
      ['every character of a slash name', [slash('abcdefghijklmnopqrstuvwxyz_-'), slash('0123456789')]],
      ['32 characters', [slash('a'.repeat(32))]],
      ['32 emoji of a prefix command', [prefix(emoji(32))]],
      [
        'names of object properties',
        [slash('constructor'), slash('__proto__'), slash('tostring'), prefix('__proto__'), prefix('hasOwnProperty')],
      ],
    ]);
  });

  describe('description', () => {
    refuses([
      ['null', [slash('a', { description: null })], '/0/description'],
      ['null on a prefix command', [prefix('a', { description: null })], '/0/description'],
      ['a number', [slash('a', { description: 5 })], '/0/description'],
      ['empty on a slash command', [slash('a', { description: '' })], '/0/description'],
      ['blank on a slash command', [slash('a', { description: ' \u200b\0' })], '/0/description'],
      ['101 emoji', [slash('a', { description: emoji(101) })], '/0/description'],
    ]);
    takes([
      ['100 emoji', [slash('a', { description: emoji(100) }), prefix('b', { description: emoji(100) })]],
      ['left out or empty on a prefix command', [prefix('a'), prefix('b', { description: '' })]],
    ]);
    it('keeps line breaks and direction marks, and replaces half a surrogate pair with U+FFFD', async () => {
      const odd = 'a\r\nb\u2028\t\u202e$x.y';
      const sent = [slash('a', { description: `${odd}\ud83d`, options: [slash('b', { description: `\udc00${odd}` })] })];
      const [command] = (await put(sent, serverPath())).body;
      expect([command?.description, command?.options?.[0]?.description]).to.deep.equal([`${odd}\ufffd`, `\ufffd${odd}`]);
    });
  });

  describe('kind and prefix', () => {
    refuses([
      ['an unknown kind', [slash('a', { kind: 'user' })], '/0/kind'],
      ['kind null', [slash('a', { kind: null })], '/0/kind'],
      ['kind in capitals', [slash('a', { kind: 'SLASH' })], '/0/kind'],
      ['prefix null on a slash command', [slash('a', { prefix: null })], '/0/prefix'],
      ['an empty prefix', [prefix('a', { prefix: '' })], '/0/prefix'],
      ['a prefix that is a number', [prefix('a', { prefix: 1 })], '/0/prefix'],
      ['six characters of prefix', [prefix('a', { prefix: '!!!!!!' })], '/0/prefix'],
      ['a prefix with a space', [prefix('a', { prefix: '! ' })], '/0/prefix'],
    ]);
    takes([
      ['five emoji of prefix', [prefix('a', { prefix: emoji(5) })]],
      ['one character of prefix', [prefix('a', { prefix: '/' })]],
    ]);
  });

  describe('options', () => {
    const many = (count: number): object[] => Array.from({ length: count }, (_, at) => slash(`o${at}`));
    refuses([
      ['on a prefix command', [prefix('a', { options: [slash('b')] })], '/0/options'],
      ['null', [slash('a', { options: null })], '/0/options'],
      ['26', options(...many(26)), '/0/options'],
      ['a name left out', options({ description: 'x' }), '/0/options/0/name'],
      ['a name with a capital', [slash('ok'), ...options(slash('No'))], '/1/options/0/name'],
      ['a name with a line break', options(slash('a\n')), '/0/options/0/name'],
      ['a name with a colon', options(slash('a:')), '/0/options/0/name'],
      ['a name of 33 characters', options(slash('a'.repeat(33))), '/0/options/0/name'],
      ['a description left out', options({ name: 'a' }), '/0/options/0/description'],
      ['an empty description', options(slash('a', { description: '' })), '/0/options/0/description'],
      ['a blank description', options(slash('a'), slash('b', { description: ' ' })), '/0/options/1/description'],
      ['101 emoji of description', options(slash('a', { description: emoji(101) })), '/0/options/0/description'],
      ['type null', options(slash('a', { type: null })), '/0/options/0/type'],
      ['type a number', options(slash('a', { type: 3 })), '/0/options/0/type'],
      ['required that is text', options(slash('a', { required: 'true' })), '/0/options/0/required'],
      ['required null', options(slash('a', { required: null })), '/0/options/0/required'],
      ['required after optional', options(slash('a'), slash('b', { required: true })), '/0/options/1/required'],
      [
        'required after required and optional',
        options(slash('a', { required: true }), slash('b', { required: false }), slash('c', { required: true })),
        '/0/options/2/required',
      ],
      ['two of one name', options(slash('a'), slash('b'), slash('a')), '/0/options/2/name'],
    ]);
    takes([
      ['none', options()],
      ['25 of every type', options(...many(25).map((one, at) => ({ ...one, type: optionTypes[at % 7], required: at < 3 })))],
      ['the same names in two commands', [slash('a', { options: [slash('x')] }), slash('b', { options: [slash('x')] })]],
      ['names of object properties', options(slash('__proto__'), slash('constructor'))],
      ['32 characters of name, 100 emoji of description', options(slash('a'.repeat(32), { description: emoji(100) }))],
    ]);
  });

  describe('the whole body', () => {
    const large = Array.from({ length: 100 }, (_, at) =>
      slash(`command-${at}`, { options: Array.from({ length: 25 }, (__, no) => slash(`o${no}`, { description: emoji(94) })) }),
    );

    it('200 for nearly 1 MiB: 100 commands with 25 options each, all returned', async () => {
      expect(Buffer.byteLength(JSON.stringify(large))).to.be.within(1_000_000, 1024 * 1024);
      const answer = await put(large, serverPath());
      expect(answer.status).to.equal(200);
      expect(answer.body.map(({ name, options: list }) => [name, list?.length, list?.[24]?.description])).to.deep.equal(
        large.map(({ name }) => [name, 25, emoji(94)]),
      );
      const ids = answer.body.map(({ id }) => id);
      expect((await put(large, serverPath())).body.map(({ id }) => id)).to.deep.equal(ids);
    });

    it('413 payload_too_large beyond 1 MiB, 400 for broken JSON, 415 for another type; the list stays as it was', async () => {
      const statusOf = async (body: unknown, headers = {}) => {
        const answer = await fixture.api.call('PUT', globalPath(), { as: fixture.asBot, body, headers });
        return [answer.status, answer.body.code];
      };
      expect(await statusOf([...large, slash('x'.repeat(100_000))])).to.deep.equal([413, 'payload_too_large']);
      expect(await statusOf('[')).to.deep.equal([400, 'invalid_request']);
      expect(await statusOf('[]', { 'Content-Type': 'text/plain' })).to.deep.equal([415, 'unsupported_media_type']);
      expect((await get()).body).to.deep.equal(old);
    });

    it('fills in defaults, returns each command with its id, and ignores unknown fields at every level, also ids', async () => {
      const junk = { id: '1234567890123456789', _id: 'x', applicationId: '1', serverId: null, $set: {}, constructor: 1 };
      const item = (own: object): object => ({ ...junk, ...own });
      const given = [item(slash('a', { type: 'user', required: true })), item(slash('b'))];
      const body = [item({ ...slash('a'), options: given }), item(slash('b')), item(prefix('Ünï'))];
      const answer = await put(body, serverPath());
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      const ids = answer.body.map(({ id }) => id);
      const made = [
        { name: 'a', description: 'x', type: 'user', required: true },
        { name: 'b', description: 'x', type: 'string', required: false },
      ];
      expect(answer.body).to.deep.equal([
        { id: ids[0], name: 'a', description: 'x', kind: 'slash', options: made },
        { id: ids[1], name: 'b', description: 'x', kind: 'slash', options: [] },
        { id: ids[2], name: 'Ünï', description: '', kind: 'prefix', prefix: '!' },
      ]);
      expect(ids).to.not.include(junk.id);
      const stored = await fixture.api.platform.db.commands.findOne({ _id: `${fixture.bot.applicationId}:${fixture.seeded.serverId}` });
      expect(Object.keys(stored ?? {}).sort()).to.deep.equal(['_id', 'applicationId', 'commands', 'serverId']);
      expect(stored?.commands).to.deep.equal(answer.body);
      expect((await get(serverPath())).body).to.deep.equal(answer.body);
      expect((await put(answer.body, serverPath())).body).to.deep.equal(answer.body);
    });

    it('keeps text that looks like a database expression', async () => {
      const odd = [slash('a', { description: '$name' }), prefix('$$NOW', { prefix: '$a', description: '$$ROOT' })];
      const { body } = await put(odd, serverPath());
      expect(body.map(({ name, description }) => [name, description])).to.deep.equal([
        ['a', '$name'],
        ['$$NOW', '$$ROOT'],
      ]);
      expect((await put(odd, serverPath())).body).to.deep.equal(body);
    });
  });

  describe('concurrent changes', () => {
    const list = async (path?: string) => (await get(path)).body;

    for (const [about, fresh] of [
      ['first PUTs of a scope', true],
      ['PUTs of a scope', false],
    ] as const)
      it(`concurrent ${about}: one whole list is left, and a name in several of them has one id in every response (20 rounds)`, async () => {
        for (let round = 0; round < 20; round++) {
          const path = round % 2 ? serverPath() : globalPath();
          if (!fresh) await put([], path);
          else await fixture.api.platform.db.commands.deleteMany({ applicationId: fixture.bot.applicationId });
          const name = word('race');
          const lists = ['a', 'b', 'c', 'd'].map((tail) => [slash(name), slash(`${name}-${tail}`), slash(`${name}-${tail}2`)]);
          const answers = await Promise.all(lists.map((commands) => put(commands, path)));
          expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
          const left = await list(path);
          for (const { body } of answers) expect(idOf(body, name)).to.equal(idOf(left, name));
          expect(answers.map(({ body }) => JSON.stringify(body))).to.include(JSON.stringify(left));
        }
      });

    it('two PUTs that create a scope return the same id for the same name', async () => {
      const { db } = fixture.api.platform;
      await db.commands.deleteMany({ applicationId: fixture.bot.applicationId });
      let first: Command[] = [];
      interceptNext(db.commands, 'insertOne', async (real) => {
        first = (await put([slash('same'), slash('first')])).body;
        return real();
      });
      const second = await put([slash('same'), slash('second')]);
      expect(second.status).to.equal(200);
      expect(idOf(second.body, 'same')).to.equal(idOf(first, 'same'));
      expect(await list()).to.deep.equal(second.body);
      expect(await db.commands.countDocuments({ applicationId: fixture.bot.applicationId })).to.equal(1);
    });

    it('two DELETEs of one command: one 204, one 404 (10 rounds)', async () => {
      for (let round = 0; round < 10; round++) {
        const { body } = await put([slash('gone'), slash('stays')]);
        const remove = () => fixture.api.call('DELETE', `${globalPath()}/${idOf(body, 'gone')}`, { as: fixture.asBot });
        expect(tally(await Promise.all([remove(), remove()]))).to.deep.equal({ 204: 1, 404: 1 });
        expect(await list()).to.deep.equal([body[1]]);
      }
    });
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { carryOut } from '../../apps/operator/carry-out.ts';
import { readCommand } from '../../apps/operator/commands.ts';
import { exits } from '../../apps/operator/ending.ts';
import type { AuditPage } from '../../lib/contract/server.ts';
import { ensureSystemAccount } from '../../lib/domain/accounts/system-account.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Bot, type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Run, runOperator, storesOf } from './run-operator.ts';

const nobody = '1111111111111111111';

describe('npm run operator', function () {
  this.timeout(180_000); // each process takes a second of its own to start
  let api: TestApi;
  let env: Record<string, string>;
  let owner: Caller;
  let person: Caller;
  let bot: Bot;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    env = storesOf(api.platform.config);
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    person = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id);
  });
  after(() => api.close());

  const run = (...args: string[]): Promise<Run> => runOperator(args, env);
  /** Runs with --json: one line, which is one object, on stdout, and nothing beside it. */
  async function json(exit: number, ...args: string[]): Promise<Record<string, unknown>> {
    const ended = await run(...args, '--json');
    expect([ended.exit, ended.stderr], ended.stdout).to.deep.equal([exit, '']);
    expect(ended.stdout.split('\n')).to.have.length(2);
    return JSON.parse(ended.stdout) as Record<string, unknown>;
  }
  /** What the command line would say, without a process of its own. */
  async function textOf(...args: string[]): Promise<string> {
    const asked = readCommand(args);
    if (asked.kind !== 'order') throw new Error(asked.text);
    return (await carryOut(api.platform, asked.order)).text;
  }
  const typesNow = async () => (await send<{ types: string[] }>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).types;

  it('server-types: grants, and everybody sees it', async () => {
    expect(await typesNow()).to.deep.equal([]);
    const { exit, stdout, stderr } = await run('server-types', server.id, 'verified, official,verified');
    expect([exit, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.equal(`“${server.name}” (${server.id}): server types: official, verified, previously none.\n`);
    expect(await typesNow()).to.deep.equal(['official', 'verified']);
    expect(await textOf('server-types', server.id, 'official,verified')).to.match(/: server types: official, verified, unchanged\.$/);
    expect(await textOf('server-types', server.id, 'none')).to.match(/: server types: none, previously official, verified\.$/);
    expect(await typesNow()).to.deep.equal([]);
  });

  it('server-types --json; a staff server leaves Discovery', async () => {
    const { id, name } = await makeServer(api, owner);
    const list = () => api.platform.db.servers.updateOne({ _id: id }, { $set: { listed: true } });
    await list();
    const granted = await json(0, 'server-types', id, 'staff');
    const base = { ok: true, command: 'server-types', id, name };
    expect(granted).to.deep.equal({ ...base, changed: true, before: [], after: ['staff'], unlisted: true });
    await list();
    expect(await textOf('server-types', id, 'staff')).to.match(
      /: server types: staff, unchanged\. The server was removed from Discovery\.$/,
    );
  });

  it('verify-bot, and --undo', async () => {
    const { applicationId, id, username: name } = bot;
    const base = { ok: true, command: 'verify-bot', id, name };
    expect(await json(0, 'verify-bot', applicationId)).to.deep.equal({ ...base, changed: true, before: 'bot', after: 'verified_bot' });
    expect(await send(api, 200, bot, 'GET', '/api/auth/me')).to.include({ tag: 'verified_bot' });
    expect(await textOf('verify-bot', applicationId)).to.equal(`“${name}” (${id}): tag: verified_bot, unchanged.`);
    expect(await json(0, 'verify-bot', '--undo', applicationId)).to.include({ changed: true, after: 'bot' });
    expect(await send(api, 200, bot, 'GET', '/api/auth/me')).to.include({ tag: 'bot' });
  });

  it('tag official and none', async () => {
    const { id, username: name } = person;
    const base = { ok: true, command: 'tag', changed: true, id, name };
    expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: null });
    expect((await run('tag', id, 'official')).stdout).to.equal(`“${name}” (${id}): tag: official, previously none.\n`);
    expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: 'official' });
    expect(await json(0, 'tag', id, 'none')).to.deep.equal({ ...base, before: 'official', after: null });
  });

  it('early-access, and --undo', async () => {
    const { id, username: name } = person;
    expect((await run('early-access', id)).stdout).to.equal(`“${name}” (${id}): early access: yes, previously no.\n`);
    expect(await json(0, 'early-access', id, '--undo')).to.include({ command: 'early-access', changed: true, before: true, after: false });
  });

  it('two operators at once: both are done, one after the other', async () => {
    const place = await makeServer(api, owner);
    const runs = await Promise.all([run('server-types', place.id, 'verified'), run('server-types', place.id, 'partnered')]);
    expect(runs.map(({ exit }) => exit)).to.deep.equal([0, 0]);
    const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${place.id}/audit-log`);
    const changes = items.map((entry) => (entry.changes as { types: { from: string[]; to: string[] } }).types);
    const [first, last] = changes.sort((a, b) => a.from.length - b.from.length);
    expect(first?.from).to.deep.equal([]);
    expect(last?.from).to.deep.equal(first?.to);
  });

  it('a name cannot steer the terminal', async () => {
    const place = await makeServer(api, owner, 'a\u001b]0;owned\u0007\u009b2J\u202eb');
    expect(await textOf('server-types', place.id, 'verified')).to.match(/^“a\uFFFD\]0;owned\uFFFD\uFFFD2J\uFFFDb” \(/);
  });

  describe('exit code 1', () => {
    const unknown: [what: string, args: string[]][] = [
      ['an unknown server', ['server-types', nobody, 'staff']],
      ['an unknown application', ['verify-bot', nobody]],
      ['an operator of the database', ['tag', '$ne', 'official']],
      ['spaces', ['early-access', ` ${nobody} `]],
      ['a dash, after --', ['tag', '--', '-1', 'official']],
    ];
    for (const [what, args] of unknown)
      it(`for ${what}`, async () => {
        const { exit, stdout, stderr } = await run(...args);
        expect([exit, stdout]).to.deep.equal([1, '']);
        expect(stderr).to.match(/^This (server|application|account) doesn’t exist.*\.\n$/);
      });

    it('for the account of the platform; with --json the code is that of the API', async () => {
      await ensureSystemAccount(api.platform);
      const { ok, error } = (await json(1, 'tag', '0000000000000000001', 'official')) as { ok: boolean; error: { code: string } };
      expect([ok, error.code]).to.deep.equal([false, 'invalid_request']);
    });
  });

  describe('exit code 64', () => {
    const wrong: [what: string, args: string[], says: RegExp][] = [
      ['no command', [], /^Usage: operator /],
      ['an unknown command', ['tga', nobody, 'official'], /Did you mean tag\?/],
      ['an unknown type', ['server-types', nobody, 'official,Staff'], /official, staff, developer, verified, partnered/],
      ['an empty type', ['server-types', nobody, ''], /Types are official/],
      ['none among types', ['server-types', nobody, 'none,staff'], /Types are official/],
      ['no types', ['server-types', nobody], /missing required argument/],
      ['types with spaces only', ['server-types', nobody, 'official', 'staff'], /too many arguments/],
      ['another tag', ['tag', nobody, 'verified_bot'], /official, none/],
      ['an id with a dash', ['verify-bot', '-x'], /unknown option/],
      ['an option of another command', ['tag', nobody, 'none', '--undo'], /unknown option/],
    ];
    for (const [what, args, says] of wrong)
      it(`for ${what}`, () => {
        const asked = readCommand(args);
        expect(asked.kind).to.equal('usage');
        expect(asked.kind === 'usage' && asked.text)
          .to.match(says)
          .and.not.match(/^error/);
      });

    it('is how the process ends, with the reason on stderr and no setting read', async () => {
      const { exit, stdout, stderr } = await runOperator(['server-types', nobody, 'Staff'], {});
      expect([exit, stdout]).to.deep.equal([64, '']);
      expect(stderr).to.contain('official, staff, developer, verified, partnered');
      expect((await json(64, 'server-types', nobody, 'Staff')).error).to.deep.equal({ code: 'usage', message: stderr.trim() });
    });
  });

  describe('help', () => {
    it('lists every command in one line, and the exit codes, without any setting', async () => {
      const { exit, stdout, stderr } = await runOperator(['help'], {});
      expect([exit, stderr]).to.deep.equal([0, '']);
      const commands = [
        'server-types <serverId> <type,…>',
        'verify-bot [options] <applicationId>',
        'tag <userId> <tag>',
        'early-access [options] <userId>',
        'rotate-key',
      ];
      for (const command of commands) expect(stdout.split('\n').filter((line) => line.startsWith(`  ${command}  `))).to.have.length(1);
      expect(
        stdout.split('\n').filter((line) => /^ {3,}\S/.test(line)),
        'wrapped lines',
      ).to.deep.equal([]);
      for (const code of Object.values(exits)) expect(stdout).to.match(new RegExp(`^ {2}${code} +\\S`, 'm'));
      expect(await json(0, '--help')).to.deep.equal({ ok: true, help: stdout.trim() });
    });

    for (const args of [['-h'], ['help', 'verify-bot'], ['verify-bot', '--help']])
      it(args.join(' '), () => {
        const asked = readCommand(args);
        expect(asked.kind).to.equal('help');
        expect(asked.kind === 'help' && asked.text).to.contain(args.includes('verify-bot') ? '--undo' : 'server-types');
      });

    it('docs/operations.md names the same commands and exit codes', () => {
      const page = readFileSync('docs/operations.md', 'utf8').split('## Operator commands')[1]?.split('### APP_KEY')[0] ?? '';
      const rows = [...page.matchAll(/^\| `([a-z-]+)[ `](?!run)/gm)].map(([, command]) => command);
      expect(rows).to.deep.equal(['server-types', 'verify-bot', 'tag', 'early-access', 'rotate-key', 'help']);
      for (const name of rows)
        expect(readCommand(['help']), name)
          .to.have.property('text')
          .that.matches(new RegExp(`^  ${name} `, 'm'));
      expect([...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))).to.deep.equal(Object.values(exits));
    });
  });
});

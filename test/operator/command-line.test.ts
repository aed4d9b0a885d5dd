import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { isBackupCommand } from '../../apps/operator/backup-commands.ts';
import { parseCommandLine } from '../../apps/operator/commands.ts';
import { executeCommand } from '../../apps/operator/execute.ts';
import { exitCodes } from '../../apps/operator/result.ts';
import type { AuditPage } from '../../lib/contract/member.ts';
import { ensureSystemAccount } from '../../lib/domain/system-account.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Bot, makeBot, makeMember, makePerson, makeServer, type Place } from '../harness/factories.ts';
import { type Caller, send } from '../harness/requests.ts';
import { type Run, runOperator, storesOf } from './run-operator.ts';

const unknownId = '1111111111111111111';

describe('npm run operator', () => {
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
  /** Runs a command with --json and returns its output: one line with one object on stdout, and nothing on stderr. */
  async function json(exit: number, ...args: string[]): Promise<Record<string, unknown>> {
    const result = await run(...args, '--json');
    expect([result.exit, result.stderr], result.stdout).to.deep.equal([exit, '']);
    expect(result.stdout.split('\n')).to.have.length(2);
    return JSON.parse(result.stdout) as Record<string, unknown>;
  }
  /** The text that a command prints, without starting a process. */
  async function textOf(...args: string[]): Promise<string> {
    const parsed = parseCommandLine(args);
    if (parsed.kind !== 'command') throw new Error(parsed.text);
    if (parsed.command.command === 'migrate' || isBackupCommand(parsed.command)) throw new Error('it does not run on a platform');
    return (await executeCommand(api.platform, parsed.command, { operator: 'test' })).text;
  }
  const typesNow = async () => (await send<{ types: string[] }>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).types;

  it('server-types replaces the types of a server at once', async () => {
    expect(await typesNow()).to.deep.equal([]);
    const { exit, stdout, stderr } = await run('server-types', server.id, 'verified, official,verified');
    expect([exit, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.equal(`“${server.name}” (${server.id}): server types: official, verified, previously none.\n`);
    expect(await typesNow()).to.deep.equal(['official', 'verified']);
    expect(await textOf('server-types', server.id, 'official,verified')).to.match(/: server types: official, verified, unchanged\.$/);
    expect(await textOf('server-types', server.id, 'none')).to.match(/: server types: none, previously official, verified\.$/);
    expect(await typesNow()).to.deep.equal([]);
  });

  it('server-types removes a staff server from Discovery and reports it', async () => {
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

  it('verify-bot grants the tag verified_bot, and --undo removes it', async () => {
    const { applicationId, id, username: name } = bot;
    const base = { ok: true, command: 'verify-bot', id, name };
    expect(await json(0, 'verify-bot', applicationId)).to.deep.equal({ ...base, changed: true, before: 'bot', after: 'verified_bot' });
    expect(await send(api, 200, bot, 'GET', '/api/auth/me')).to.include({ tag: 'verified_bot' });
    expect(await textOf('verify-bot', applicationId)).to.equal(`“${name}” (${id}): tag: verified_bot, unchanged.`);
    expect(await json(0, 'verify-bot', '--undo', applicationId)).to.include({ changed: true, after: 'bot' });
    expect(await send(api, 200, bot, 'GET', '/api/auth/me')).to.include({ tag: 'bot' });
  });

  it('tag grants official, and none removes it', async () => {
    const { id, username: name } = person;
    const base = { ok: true, command: 'tag', changed: true, id, name };
    expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: null });
    expect((await run('tag', id, 'official')).stdout).to.equal(`“${name}” (${id}): tag: official, previously none.\n`);
    expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: 'official' });
    expect(await json(0, 'tag', id, 'none')).to.deep.equal({ ...base, before: 'official', after: null });
  });

  it('early-access grants the badge, and --undo removes it', async () => {
    const { id, username: name } = person;
    expect((await run('early-access', id)).stdout).to.equal(`“${name}” (${id}): early access: yes, previously no.\n`);
    expect(await json(0, 'early-access', id, '--undo')).to.include({ command: 'early-access', changed: true, before: true, after: false });
  });

  it('runs two commands for one server one after the other', async () => {
    const target = await makeServer(api, owner);
    const runs = await Promise.all([run('server-types', target.id, 'verified'), run('server-types', target.id, 'partnered')]);
    expect(runs.map(({ exit }) => exit)).to.deep.equal([0, 0]);
    const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${target.id}/audit-log`);
    const changes = items.map((entry) => (entry.changes as { types: { from: string[]; to: string[] } }).types);
    const [first, last] = changes.sort((a, b) => a.from.length - b.from.length);
    expect(first?.from).to.deep.equal([]);
    expect(last?.from).to.deep.equal(first?.to);
  });

  it('replaces control characters in names', async () => {
    const target = await makeServer(api, owner);
    // Names that were stored before control characters were refused.
    const name = 'a\u001b]0;owned\u0007\u009b2J\u202eb';
    await api.platform.db.servers.updateOne({ _id: target.id }, { $set: { name } });
    expect(await textOf('server-types', target.id, 'verified')).to.match(/^“a\uFFFD\]0;owned\uFFFD\uFFFD2J\uFFFDb” \(/);
  });

  describe('exit code 1', () => {
    const refused: [what: string, args: string[]][] = [
      ['an unknown server', ['server-types', unknownId, 'staff']],
      ['an unknown application', ['verify-bot', unknownId]],
      ['a query operator as an id', ['tag', '$ne', 'official']],
      ['an id with spaces around it', ['early-access', ` ${unknownId} `]],
      ['a negative number as an id, after --', ['tag', '--', '-1', 'official']],
    ];
    for (const [what, args] of refused)
      it(`for ${what}`, async () => {
        const { exit, stdout, stderr } = await run(...args);
        expect([exit, stdout]).to.deep.equal([1, '']);
        expect(stderr).to.match(/^This (server|application|account) doesn’t exist.*\.\n$/);
      });

    it('for the system account, with the error code of the API in the JSON', async () => {
      await ensureSystemAccount(api.platform);
      const { ok, error } = (await json(1, 'tag', '0000000000000000001', 'official')) as { ok: boolean; error: { code: string } };
      expect([ok, error.code]).to.deep.equal([false, 'invalid_request']);
    });
  });

  describe('exit code 64', () => {
    const wrong: [what: string, args: string[], message: RegExp][] = [
      ['no command', [], /^Usage: operator /],
      ['an unknown command', ['tga', unknownId, 'official'], /Did you mean tag\?/],
      ['an unknown type', ['server-types', unknownId, 'official,Staff'], /official, staff, developer, verified, partnered/],
      ['an empty type', ['server-types', unknownId, ''], /Types are official/],
      ['none together with a type', ['server-types', unknownId, 'none,staff'], /Types are official/],
      ['no types', ['server-types', unknownId], /missing required argument/],
      ['types separated by spaces', ['server-types', unknownId, 'official', 'staff'], /too many arguments/],
      ['a tag that cannot be granted', ['tag', unknownId, 'verified_bot'], /official, none/],
      ['an id with a dash', ['verify-bot', '-x'], /unknown option/],
      ['a backup to nowhere', ['backup'], /missing required argument/],
      ['a number of backups that is none', ['backup', '--keep', '0', '.'], /number from 1 to 1000/],
      ['an option of another command', ['tag', unknownId, 'none', '--undo'], /unknown option/],
    ];
    for (const [what, args, message] of wrong)
      it(`for ${what}`, () => {
        const parsed = parseCommandLine(args);
        expect(parsed.kind).to.equal('usage');
        expect(parsed.kind === 'usage' && parsed.text)
          .to.match(message)
          .and.not.match(/^error/);
      });

    it('ends the process with the reason on stderr, without reading settings', async () => {
      const { exit, stdout, stderr } = await runOperator(['server-types', unknownId, 'Staff'], {});
      expect([exit, stdout]).to.deep.equal([64, '']);
      expect(stderr).to.contain('official, staff, developer, verified, partnered');
      expect((await json(64, 'server-types', unknownId, 'Staff')).error).to.deep.equal({ code: 'usage', message: stderr.trim() });
    });
  });

  describe('help', () => {
    it('lists every command on one line and the exit codes, without reading settings', async () => {
      const { exit, stdout, stderr } = await runOperator(['help'], {});
      expect([exit, stderr]).to.deep.equal([0, '']);
      const commands = [
        'server-types <serverId> <type,…>',
        'verify-bot [options] <applicationId>',
        'tag <userId> <tag>',
        'early-access [options] <userId>',
        'rotate-key',
        'migrate',
        'reindex [options]',
        'backup [options] <to>',
        'verify-backup <from>',
        'restore [options] <from>',
        'accounts [options] [query]',
        'servers [options] [query]',
        'account <userId>',
        'storage [options]',
        'audit [options]',
        'suspend [options] <userId>',
        'unsuspend <userId>',
        'reset-password <userId>',
        'end-sessions <userId>',
        'delete-account [options] <userId>',
        'keep-account <userId>',
        'create-server [options] <name>',
        'transfer-server <serverId> <userId>',
        'retention <serverId> <days>',
        'delete-server <serverId>',
      ];
      for (const command of commands) expect(stdout.split('\n').filter((line) => line.startsWith(`  ${command}  `))).to.have.length(1);
      expect(
        stdout.split('\n').filter((line) => /^ {3,}\S/.test(line)),
        'wrapped lines',
      ).to.deep.equal([]);
      for (const code of Object.values(exitCodes)) expect(stdout).to.match(new RegExp(`^ {2}${code} +\\S`, 'm'));
      expect(await json(0, '--help')).to.deep.equal({ ok: true, help: stdout.trim() });
    });

    for (const args of [['-h'], ['help', 'verify-bot'], ['verify-bot', '--help']])
      it(`is printed for ${args.join(' ')}`, () => {
        const parsed = parseCommandLine(args);
        expect(parsed.kind).to.equal('help');
        expect(parsed.kind === 'help' && parsed.text).to.contain(args.includes('verify-bot') ? '--undo' : 'server-types');
      });

    it('has the commands and exit codes of docs/operations.md', () => {
      const page = readFileSync('docs/operations.md', 'utf8').split('## Operator commands')[1]?.split('### Operators')[0] ?? '';
      const rows = [...page.matchAll(/^\| `([a-z-]+)[ `](?!run)/gm)].map(([, command]) => command);
      const help = parseCommandLine(['help']);
      const commands = help.kind === 'help' ? (help.text.split('Commands:')[1]?.split('Exit codes:')[0] ?? '') : '';
      expect(rows).to.have.members([...commands.matchAll(/^ {2}([a-z-]+) /gm)].map(([, command]) => command));
      expect(rows.length).to.be.greaterThan(20);
      expect([...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))).to.deep.equal(Object.values(exitCodes));
    });
  });
});

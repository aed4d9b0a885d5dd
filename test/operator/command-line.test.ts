import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseCommandLine } from '../../apps/operator/commands.ts';
import { exitCodes } from '../../apps/operator/result.ts';
import { ensureSystemAccount } from '../../lib/domain/system-account.ts';
import { makeServer } from '../harness/factories.ts';
import { send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';
import { runHere, runOn } from './run-here.ts';
import { type Run, runOperator, storesOf } from './run-operator.ts';

const unknownId = '1111111111111111111';

describe('npm run operator', () => {
  const { api, owner, server, person, bot } = useServer({ person: newMember(), bot: newBot() });
  let env: Record<string, string>;
  before(() => {
    env = storesOf(api.platform.config);
  });

  const run = (...args: string[]): Promise<Run> => runOperator(args, env);
  /** Runs a command with --json and returns its output: one line with one object on stdout, and nothing on stderr. */
  async function json(exit: number, ...args: string[]): Promise<Record<string, unknown>> {
    const result = await run(...args, '--json');
    expect([result.exit, result.stderr], result.stdout).to.deep.equal([exit, '']);
    expect(result.stdout.split('\n')).to.have.length(2);
    return JSON.parse(result.stdout) as Record<string, unknown>;
  }
  const textOf = async (...args: string[]): Promise<string> => (await runOn(api.platform, ...args)).text;
  const jsonOf = async (...args: string[]): Promise<object> => (await runOn(api.platform, ...args)).json;

  it('server-types replaces the types of a server, as a process in text and in JSON', async () => {
    const typesNow = async () => (await send<{ types: string[] }>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).types;
    expect(await typesNow()).to.deep.equal([]);
    const { exit, stdout, stderr } = await run('server-types', server.id, 'verified, official,verified');
    expect([exit, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.equal(`“${server.name}” (${server.id}): server types: official, verified, previously none.\n`);
    expect(await typesNow()).to.deep.equal(['official', 'verified']);
    expect(await textOf('server-types', server.id, 'official,verified')).to.match(/: server types: official, verified, unchanged\.$/);
    const base = { ok: true, command: 'server-types', id: server.id, name: server.name, changed: true, unlisted: false };
    expect(await json(0, 'server-types', server.id, 'none')).to.deep.equal({ ...base, before: ['official', 'verified'], after: [] });
    expect(await typesNow()).to.deep.equal([]);
  });

  it('server-types reports that it removes a staff server from Discovery', async () => {
    const { id } = await makeServer(api, owner);
    const list = () => api.platform.db.servers.updateOne({ _id: id }, { $set: { listed: true } });
    await list();
    expect(await jsonOf('server-types', id, 'staff')).to.deep.include({ changed: true, before: [], after: ['staff'], unlisted: true });
    await list();
    expect(await textOf('server-types', id, 'staff')).to.match(
      /: server types: staff, unchanged\. The server was removed from Discovery\.$/,
    );
  });

  it('verify-bot, tag and early-access report what they grant and remove', async () => {
    const ofBot = { id: bot.id, name: bot.username };
    const verified = { ok: true, command: 'verify-bot', changed: true, ...ofBot, before: 'bot', after: 'verified_bot' };
    expect(await jsonOf('verify-bot', bot.applicationId)).to.deep.equal(verified);
    expect(await textOf('verify-bot', bot.applicationId)).to.equal(`“${bot.username}” (${bot.id}): tag: verified_bot, unchanged.`);
    expect(await jsonOf('verify-bot', '--undo', bot.applicationId)).to.include({ changed: true, after: 'bot' });
    const { id, username: name } = person;
    expect(await textOf('tag', id, 'official')).to.equal(`“${name}” (${id}): tag: official, previously none.`);
    const removed = { ok: true, command: 'tag', changed: true, id, name, before: 'official', after: null };
    expect(await jsonOf('tag', id, 'none')).to.deep.equal(removed);
    expect(await textOf('early-access', id)).to.equal(`“${name}” (${id}): early access: yes, previously no.`);
    expect(await jsonOf('early-access', id, '--undo')).to.include({ command: 'early-access', changed: true, before: true, after: false });
  });

  it('replaces control characters in names', async () => {
    const target = await makeServer(api, owner);
    // Names that were stored before control characters were refused.
    const name = 'a\u001b]0;owned\u0007\u009b2J\u202eb';
    await api.platform.db.servers.updateOne({ _id: target.id }, { $set: { name } });
    expect(await textOf('server-types', target.id, 'verified')).to.match(/^“a\uFFFD\]0;owned\uFFFD\uFFFD2J\uFFFDb” \(/);
  });

  describe('exit code 1', () => {
    it('for an unknown server, with the reason on stderr', async () => {
      const { exit, stdout, stderr } = await run('server-types', unknownId, 'staff');
      expect([exit, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.match(/^This server doesn’t exist.*\.\n$/);
    });

    it('for ids that match nothing, also malformed ones', async () => {
      for (const args of [
        ['verify-bot', unknownId],
        ['tag', '$ne', 'official'],
        ['early-access', ` ${unknownId} `],
        ['tag', '--', '-1', 'official'],
      ]) {
        const { exitCode, text } = await runHere(args, api.platform.config);
        expect([args, exitCode]).to.deep.equal([args, 1]);
        expect(text).to.match(/^This (application|account) doesn’t exist.*\.$/);
      }
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
    it('has one line for each command and the exit codes, without reading settings', async () => {
      const { exit, stdout, stderr } = await runOperator(['help'], {});
      expect([exit, stderr]).to.deep.equal([0, '']);
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

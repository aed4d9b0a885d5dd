// The programs of the guides in docs/guides, run as a reader runs them.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { signRequest } from '../../lib/store/seal.ts';
import { makeMember } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { send } from '../harness/requests.ts';
import { useGuideFixture } from './fixture.ts';
import { type Program, usePrograms } from './programs.ts';

describe('guides: programs', () => {
  const fixture = useGuideFixture();
  const { api, owner, member, server, bot, post, invoke, answer, env, withEndpoint, postPing, deliver } = fixture;
  const { canRun, run } = usePrograms();
  const channelPath = (): string => `/api/channels/${server.general}`;
  const hasContent = (wanted: string | RegExp) => (message: { content: string }) =>
    typeof wanted === 'string' ? message.content === wanted : wanted.test(message.content);
  /** Uses `/name` and waits for an answer with `content`. */
  const use = (name: string, options: Record<string, unknown>, content: string | RegExp) => invoke(name, options, hasContent(content));

  async function sayHello(): Promise<void> {
    await use('hello', {}, `Hello, ${owner.username}!`);
  }

  /** Answers `/hello`, and refuses requests that Parlance has not signed, or signed too long ago. */
  async function answersSignedRequests(): Promise<void> {
    await withEndpoint(sayHello);
    const statuses = [postPing(bot.signingSecret, 0), postPing(bot.signingSecret, 310), postPing('another', 0)];
    expect(await Promise.all(statuses)).to.deep.equal([200, 401, 401]);
  }

  async function rollsAndCounts(): Promise<void> {
    expect(await use('roll', { sides: 1 }, 'A die has at least 2 sides.')).to.include({ ephemeral: true });
    await use('roll', { sides: 6 }, /^You rolled [1-6]\.$/);
    expect(await use('roll', { sides: 6, quiet: true }, /^You rolled [1-6]\.$/)).to.include({ ephemeral: true });
    expect(await use('count', {}, 'Only you see this message.')).to.include({ ephemeral: true });
    const { content } = (await send<{ content: string }[]>(api, 200, owner, 'GET', `${channelPath()}/messages?limit=1`))[0] ?? {};
    expect(content).to.match(/^This server has \d+ members\.$/);
  }

  async function printsEvents(program: Program): Promise<void> {
    const { id } = await post('before');
    await send(api, 200, owner, 'PATCH', `${channelPath()}/messages/${id}`, { content: 'after' });
    await send(api, 204, owner, 'PUT', `${channelPath()}/messages/${id}/reactions/${encodeURIComponent('👍')}`);
    // Edits that are not sent yet when their message is deleted are never sent.
    await program.printed(new RegExp(`Edited: after\n[^]*Reaction 👍 on ${id}\n`));
    await send(api, 204, owner, 'DELETE', `${channelPath()}/messages/${id}`);
    await program.printed(new RegExp(`Deleted: ${id}\n`));
  }

  async function readsFiles(): Promise<void> {
    const sent = await answer(() => post('!members.csv'), hasContent('Here is the list.'));
    expect(sent.attachments.map(({ filename, size }) => [filename, size])).to.deep.equal([['members.csv', 27]]);
    const form = new FormData();
    form.append('payload_json', '{}');
    form.append('files', new Blob(['12345']), 'five.txt');
    const upload = () => fetch(`${api.url}${channelPath()}/messages`, { method: 'POST', headers: { authorization: owner.as }, body: form });
    await answer(upload, hasContent('five.txt: 5 bytes, of which I read 5.'));
  }

  async function pins(): Promise<void> {
    await answer(() => post('!pin'), hasContent('Reply to the message that you want to pin.'));
    const { id } = await post('to be pinned');
    await answer(() => post('!pin', { replyTo: id }), hasContent('Pinned.'));
    const role = `/api/servers/${server.id}/roles/${bot.roleId}`;
    await send(api, 200, owner, 'PATCH', role, { permissions: 3 });
    await answer(() => post('!pin', { replyTo: id }), hasContent('I lack a permission: Manage Messages.'));
    await send(api, 200, owner, 'PATCH', role, { permissions: 0xfff });
  }

  async function moderates(): Promise<void> {
    const { id } = (await answer(() => post('Get FREE COINS here', {}, member), hasContent(/no advertising here/), member)).author;
    expect(id).to.equal(bot.id);
    const contents = (await send<{ content: string }[]>(api, 200, owner, 'GET', `${channelPath()}/messages`)).map(({ content }) => content);
    expect(contents.filter((content) => content.includes('COINS'))).to.deep.equal([]);
    const target = await makeMember(api, owner, server.id);
    const who = target.id;
    await invoke('kick', { who }, hasContent('You may not remove members.'), member);
    await use('kick', { who }, 'Removed.');
    await send(api, 404, owner, 'GET', `/api/servers/${server.id}/members/${who}`);
    await use('kick', { who: owner.id }, 'That member is not below me.');
  }

  async function connectsRepository(): Promise<void> {
    const { content } = await use('repository', {}, /\/codehost$/);
    const push = { ref: 'refs/heads/main', repository: { full_name: 'a/b', html_url: 'https://x.example/a/b' }, commits: [], pusher: {} };
    const first = { zen: 'Keep it simple.', repository: push.repository, hook: { type: 'Repository' } };
    const { embeds } = await answer(
      () => deliver(content, 'ping', first),
      ({ embeds: list }) => list.length > 0,
    );
    expect(JSON.stringify(embeds)).to.contain('a/b');
  }

  async function welcomes(): Promise<void> {
    let id = '';
    const join = async (): Promise<void> => {
      ({ id } = await makeMember(api, owner, server.id));
    };
    await answer(join, ({ content }) => content === `Welcome, <@${id}>!`);
    const invoked = await invoke('say', { text: 'Good morning' }, ({ embeds }) => embeds.length > 0);
    expect(invoked.embeds[0]).to.include({ title: owner.username, description: 'Good morning', color: 0x2f6f4f });
  }

  async function restarts(program: Program, file: string): Promise<void> {
    await answer(() => post('!ping'), hasContent('pong'));
    expect(await program.stop()).to.equal(0);
    const missed = await post('!ping');
    const reply = await answer(
      () => run(file, env()),
      ({ reply: to }) => to?.id === missed.id,
    );
    expect(reply.content).to.equal('pong');
  }

  /** Answers `/hello` also when it starts again, and leaves a command of the portal and a prefix command of the same name. */
  async function keepsCommands(program: Program, file: string): Promise<void> {
    const path = `/api/applications/${bot.applicationId}/commands`;
    type Command = { name: string; prefix: string | null; options: object[] };
    const read = () => send<Command[]>(api, 200, owner, 'GET', path);
    const options = [{ name: 'who', description: 'A person.', type: 'user', required: true }];
    await send(api, 200, owner, 'PUT', path, [
      { name: 'portal', description: 'Was made in the portal.', options },
      { name: 'hello', kind: 'prefix', prefix: '!', description: '' },
      { name: 'hello', description: 'An older one.' },
    ]);
    await program.stop();
    await run(file, env());
    await sayHello();
    const commands = (await read()).map(({ name, prefix }) => (prefix ?? '/') + name);
    expect(commands).to.have.members(['/portal', '/hello', '!hello']);
    expect((await read()).find(({ name }) => name === 'portal')?.options).to.deep.equal(options);
  }

  const rows: readonly [what: string, files: readonly string[], act: (program: Program, file: string) => Promise<unknown>][] = [
    [
      'first bot: answers !ping and /hello',
      ['first-bot.mjs', 'first_bot.py'],
      async () => {
        const asked = await post('!ping');
        await sayHello();
        const found = () => send<{ content: string; reply?: { id: string } }[]>(api, 200, owner, 'GET', `${channelPath()}/messages`);
        await waitUntil(async () => (await found()).some(({ content, reply }) => content === 'pong' && reply?.id === asked.id), 'pong');
      },
    ],
    ['slash commands: answers, defers and follows up', ['slash-commands.mjs', 'slash_commands.py'], rollsAndCounts],
    ['interactions over HTTPS: answers /hello', ['https.mjs', 'https_endpoint.py'], answersSignedRequests],
    ['events: prints what happens to messages', ['events.mjs', 'events.py'], printsEvents],
    [
      'permissions: lists what the bot may do',
      ['permissions.mjs', 'permissions.py'],
      () => use('can', {}, /^View Channel, Send Messages, .*Ban Members$/),
    ],
    ['files: sends a file and reads one', ['files.mjs', 'files.py'], readsFiles],
    ['errors: explains why a message cannot be pinned', ['errors.mjs', 'errors.py'], pins],
    ['moderation bot: deletes advertising, and kicks for moderators only', ['moderation.mjs', 'moderation.py'], moderates],
    ['code-host webhooks: creates a webhook that shows the repository', ['code-host.mjs', 'code_host.py'], connectsRepository],
    ['deploying: stops cleanly, and continues where it stopped', ['deploy.mjs', 'deploy.py'], restarts],
    ['from Discord: welcomes members and says something', ['from-discord.mjs', 'from_discord.py'], welcomes],
    ['without a kit: answers /hello over the gateway, and keeps other commands', ['raw-gateway.mjs', 'raw_gateway.py'], keepsCommands],
    ['without a kit: answers /hello over HTTPS', ['raw-endpoint.mjs', 'raw_endpoint.py'], answersSignedRequests],
  ];
  for (const [what, files, act] of rows)
    for (const file of files)
      it(`${file}: ${what}`, async function () {
        if (!canRun(file)) this.skip();
        const program = await run(file, env());
        try {
          await Promise.race([
            act(program, file),
            program.printed(/^(?:Traceback|Error:|ERROR)/m).then(() => Promise.reject(new Error('it failed'))),
          ]);
        } catch (error) {
          throw new Error(`${(error as Error).message}\n${program.output}`, { cause: error });
        }
      });

  it('the example signature of the guide without a kit is correct', () => {
    const guide = readFileSync('docs/guides/without-a-kit.md', 'utf8');
    const [, secret = '', timestamp = '', body = ''] = /secret `(\w+)`, the timestamp `(\d+)` and the body `(\{.*?\})`/.exec(guide) ?? [];
    expect(guide).to.contain(`give the signature\n\`${signRequest(secret, timestamp, Buffer.from(body))}\``);
  });
});

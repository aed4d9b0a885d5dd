import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { apiClient } from '../../apps/local/api-client.ts';
import { type Demo, openNotes } from '../../apps/local/demo-notes.ts';
import { seed } from '../../apps/local/seed.ts';
import { ensureGuest, ensurePerson } from '../../apps/local/seed-people.ts';
import type { Server } from '../../lib/contract/server.ts';
import { startTestApi } from '../harness/api.ts';
import { use } from '../harness/use.ts';
import { type DemoContent, readContent, startLossyProxy } from './demo-fixture.ts';

describe('seed', () => {
  const api = use(() => startTestApi());
  const root = mkdtempSync(join(tmpdir(), 'parlance-seed-'));
  const folder = mkdtempSync(join(root, 'demo-'));
  const file = join(folder, 'demo.json');
  /** The current demo, and the content of the first one. */
  let demo: Demo;
  let original: DemoContent;

  before(async () => {
    demo = await seed(api.url, folder);
    original = await readContent(api, demo);
  });
  after(() => rmSync(root, { recursive: true, force: true }));
  const asPerson = () => apiClient(api.url, `Bearer ${demo.person.token}`);

  it('creates the server, its channels, messages, members and commands', async () => {
    const { server, categories, textChannels, webhooks, roles, members, commands, dms, ...rest } = original;
    expect(Object.entries(demo.made).filter(([, id]) => id === null)).to.deep.equal([]);
    expect(server).to.deep.equal(['Demo', true, true]);
    expect(categories).to.deep.equal(['Start here', 'Talk', 'Work']);
    const counts = textChannels.map(({ channel, kind, messages }) => `${kind} ${channel} ${messages.length}`);
    expect(counts).to.include.members([
      'text rules 1',
      'announcement announcements 1',
      'text general 4',
      'text formatting 2',
      'text code 0',
    ]);
    expect(counts).to.include('thread How threads work 2');
    expect(webhooks).to.deep.equal([['Garden repository', 2]]);
    expect(roles).to.include.members(['Helpers', 'Demo Bot']);
    expect(members).to.have.members(['Demo Person 0', 'Ada 1', 'Demo Bot 1']);
    expect(commands).to.have.members(['hello', 'roll', 'remind', 'think', 'secret', 'ids', 'silent']);
    expect(dms).to.have.length(1);
    expect(rest).to.deep.equal({ invites: 1, applications: [true], servers: 1 });
    const messages = await asPerson()<{ mentions: string[] }[]>('GET', `/api/channels/${demo.server.channelId}/messages`);
    expect(messages.filter(({ mentions }) => mentions.includes(demo.person.id))).to.have.length(1);
  });

  it('changes nothing the second time; demo.json is readable only by its owner', async () => {
    const before = readFileSync(file, 'utf8');
    expect(await seed(api.url, folder)).to.deep.equal(demo);
    expect(readFileSync(file, 'utf8')).to.equal(before);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(await readContent(api, demo)).to.deep.equal(original);
  });

  it('creates nothing twice if the record of its parts is lost', async () => {
    openNotes(folder).keep({ made: {} });
    expect((await seed(api.url, folder)).made).to.deep.equal(demo.made);
    expect(await readContent(api, demo)).to.deep.equal(original);
  });

  it('creates a new demo in another database, exactly once even if responses are lost', async () => {
    const elsewhere = await startTestApi();
    const proxy = await startLossyProxy(elsewhere);
    const moved = mkdtempSync(join(root, 'moved-'));
    openNotes(moved).keep(demo);
    const errors: string[] = [];
    let done: Demo | undefined;
    try {
      // The first write of a run repeats the write whose response the previous run lost. At first one write gets through, later eight.
      while (done === undefined && errors.length < 30) {
        proxy.dropAfter(errors.length < 10 ? 1 : 8);
        done = await seed(proxy.url, moved).catch((error: Error) => void errors.push(String(error.cause)));
      }
      expect(errors.filter((error) => !error.includes('other side closed'))).to.deep.equal([]);
      expect(errors.length).to.be.within(12, 29);
      expect([done?.person.username, done?.guest.username]).to.deep.equal(['demo', 'ada']);
      expect(await readContent(elsewhere, done as Demo)).to.deep.equal(original);
    } finally {
      proxy.close();
      await elsewhere.close();
    }
  });

  it('adds a suffix to usernames that are taken', async () => {
    const notes = openNotes(mkdtempSync(join(root, 'names-')));
    expect((await ensurePerson(api.url, notes)).username).to.match(/^demo_[0-9a-f]{6}$/);
    expect((await ensureGuest(api.url, notes)).username).to.match(/^ada_[0-9a-f]{6}$/);
  });

  it('logs in again after a logout, and creates the server and its parts again after its deletion', async () => {
    await asPerson()('POST', '/api/auth/logout');
    const { person, server, application } = demo;
    demo = await seed(api.url, folder);
    expect(demo.person.id).to.equal(person.id);
    expect(demo.person.token).to.not.equal(person.token);
    await asPerson()('DELETE', `/api/servers/${server.id}`);
    demo = await seed(api.url, folder);
    expect(demo.server.id).to.not.equal(server.id);
    expect(demo.application).to.deep.equal(application);
    expect(await readContent(api, demo)).to.deep.equal(original);
  });

  it('creates another application after its deletion, with its commands, and adds it to the server and the directory', async () => {
    const { application } = demo;
    await asPerson()('DELETE', `/api/applications/${application.id}`);
    demo = await seed(api.url, folder);
    expect(demo.application.id).to.not.equal(application.id);
    const { commands, applications } = await readContent(api, demo);
    expect({ commands, applications }).to.deep.equal({ commands: original.commands, applications: original.applications });
    await apiClient(api.url, `Bot ${demo.application.token}`)<Server>('GET', `/api/servers/${demo.server.id}`);
  });

  it('does not create deleted parts again, except /hello', async () => {
    const { made, server, application } = demo;
    await asPerson()('DELETE', `/api/channels/${made.formatting}`);
    await asPerson()('DELETE', `/api/channels/${made.announcements}/messages/${made.news}`);
    await asPerson()('DELETE', `/api/servers/${server.id}/members/${demo.guest.id}`);
    const path = `/api/applications/${application.id}/commands`;
    const list = await asPerson()<{ name: string }[]>('GET', path);
    await asPerson()('PUT', path, [...list.filter(({ name }) => name !== 'roll'), { name: 'mine', description: 'My own' }]);
    const content = await readContent(api, demo);
    await seed(api.url, folder);
    expect(await readContent(api, demo)).to.deep.equal(content);
    // An interrupted run that continues after the channel was deleted records the message as impossible.
    const { 'formatting-text': _text, ...rest } = made;
    openNotes(folder).keep({ made: rest });
    await api.platform.db.idempotency.deleteMany({});
    expect((await seed(api.url, folder)).made).to.deep.equal({ ...made, 'formatting-text': null });
    expect(await readContent(api, demo)).to.deep.equal(content);
    // /hello is registered again, because the printed command uses it; other deleted commands are not.
    await asPerson()('PUT', path, [{ name: 'mine', description: 'My own' }]);
    demo = await seed(api.url, folder);
    const commands = await asPerson()<{ id: string; name: string }[]>('GET', path);
    expect(commands.map(({ name }) => name)).to.have.members(['mine', 'hello']);
    expect(commands.map(({ id }) => id)).to.include(demo.command.id);
  });
});

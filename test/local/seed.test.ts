import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { apiClient } from '../../apps/local/api-client.ts';
import { type Demo, openNotes } from '../../apps/local/demo-notes.ts';
import { seed } from '../../apps/local/seed.ts';
import { ensureGuest, ensurePerson } from '../../apps/local/seed-people.ts';
import type { Server } from '../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { openDoor, type Picture, pictureOf } from './demo-fixture.ts';

describe('the demo that npm start seeds', function () {
  this.timeout(180_000); // a whole demo is some 50 calls
  let api: TestApi;
  const root = mkdtempSync(join(tmpdir(), 'parlance-seed-'));
  const folder = mkdtempSync(join(root, 'demo-'));
  const file = join(folder, 'demo.json');
  /** The demo as it stands now, and what of it could be seen at first. */
  let demo: Demo;
  let whole: Picture;

  before(async () => {
    api = await startTestApi();
    demo = await seed(api.url, folder);
    whole = await pictureOf(api, demo);
  });
  after(async () => {
    await api.close();
    rmSync(root, { recursive: true, force: true });
  });
  const bearer = () => apiClient(api.url, `Bearer ${demo.person.token}`);

  it('shows what there is', async () => {
    const { server, categories, rooms, webhooks, roles, members, commands, dms, ...rest } = whole;
    expect(Object.entries(demo.made).filter(([, id]) => id === null)).to.deep.equal([]);
    expect(server).to.deep.equal(['Demo', true, true]);
    expect(categories).to.deep.equal(['Start here', 'Talk', 'Work']);
    const counted = rooms.map(({ room, kind, messages }) => `${kind} ${room} ${messages.length}`);
    expect(counted).to.include.members([
      'text rules 1',
      'announcement announcements 1',
      'text general 4',
      'text formatting 2',
      'text code 0',
    ]);
    expect(counted).to.include('thread How threads work 2');
    expect(webhooks).to.deep.equal([['Garden repository', 2]]);
    expect(roles).to.include.members(['Helpers', 'Demo Bot']);
    expect(members).to.have.members(['Demo Person 0', 'Ada 1', 'Demo Bot 1']);
    expect(commands).to.have.members(['hello', 'roll', 'remind', 'think', 'secret', 'ids', 'silent']);
    expect(dms).to.have.length(1);
    expect(rest).to.deep.equal({ invites: 1, applications: [true], servers: 1 });
    const messages = await bearer()<{ mentions: string[] }[]>('GET', `/api/channels/${demo.server.channelId}/messages`);
    expect(messages.filter(({ mentions }) => mentions.includes(demo.person.id))).to.have.length(1);
  });

  it('changes nothing the second time, and is noted for its owner only', async () => {
    const before = readFileSync(file, 'utf8');
    expect(await seed(api.url, folder)).to.deep.equal(demo);
    expect(readFileSync(file, 'utf8')).to.equal(before);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(await pictureOf(api, demo)).to.deep.equal(whole);
  });

  it('makes nothing twice when all of it is forgotten just after it was made', async () => {
    openNotes(folder).keep({ made: {} });
    expect((await seed(api.url, folder)).made).to.deep.equal(demo.made);
    expect(await pictureOf(api, demo)).to.deep.equal(whole);
  });

  it('begins anew on another database, goes on where it stopped, and makes nothing twice when answers get lost', async () => {
    const elsewhere = await startTestApi();
    const door = await openDoor(elsewhere);
    const moved = mkdtempSync(join(root, 'moved-'));
    openNotes(moved).keep(demo);
    const faults: string[] = [];
    let done: Demo | undefined;
    try {
      // The first write of a run is the one whose answer the run before has lost. At first each gets lost, later each eighth.
      while (done === undefined && faults.length < 30) {
        door.loseAfter(faults.length < 10 ? 1 : 8);
        done = await seed(door.url, moved).catch((fault: Error) => void faults.push(String(fault.cause)));
      }
      expect(faults.filter((fault) => !fault.includes('other side closed'))).to.deep.equal([]);
      expect(faults.length).to.be.within(12, 29);
      expect([done?.person.username, done?.guest.username]).to.deep.equal(['demo', 'ada']);
      expect(await pictureOf(elsewhere, done as Demo)).to.deep.equal(whole);
    } finally {
      door.close();
      await elsewhere.close();
    }
  });

  it('takes other names when those are taken', async () => {
    const notes = openNotes(mkdtempSync(join(root, 'names-')));
    expect((await ensurePerson(api.url, notes)).username).to.match(/^demo_[0-9a-f]{6}$/);
    expect((await ensureGuest(api.url, notes)).username).to.match(/^ada_[0-9a-f]{6}$/);
  });

  it('logs in again when the token is gone, and makes the server and its show anew when that is gone', async () => {
    await bearer()('POST', '/api/auth/logout');
    const { person, server, application } = demo;
    demo = await seed(api.url, folder);
    expect(demo.person.id).to.equal(person.id);
    expect(demo.person.token).to.not.equal(person.token);
    await bearer()('DELETE', `/api/servers/${server.id}`);
    demo = await seed(api.url, folder);
    expect(demo.server.id).to.not.equal(server.id);
    expect(demo.application).to.deep.equal(application);
    expect(await pictureOf(api, demo)).to.deep.equal(whole);
  });

  it('makes another application when that is gone, in the server, with its commands, and lists it', async () => {
    const { application } = demo;
    await bearer()('DELETE', `/api/applications/${application.id}`);
    demo = await seed(api.url, folder);
    expect(demo.application.id).to.not.equal(application.id);
    const { commands, applications } = await pictureOf(api, demo);
    expect({ commands, applications }).to.deep.equal({ commands: whole.commands, applications: whole.applications });
    await apiClient(api.url, `Bot ${demo.application.token}`)<Server>('GET', `/api/servers/${demo.server.id}`);
  });

  it('what somebody took away stays away', async () => {
    const { made, server, application } = demo;
    await bearer()('DELETE', `/api/channels/${made.formatting}`);
    await bearer()('DELETE', `/api/channels/${made.announcements}/messages/${made.news}`);
    await bearer()('DELETE', `/api/servers/${server.id}/members/${demo.guest.id}`);
    const path = `/api/applications/${application.id}/commands`;
    const list = await bearer()<{ name: string }[]>('GET', path);
    await bearer()('PUT', path, [...list.filter(({ name }) => name !== 'roll'), { name: 'mine', description: 'My own' }]);
    const picture = await pictureOf(api, demo);
    await seed(api.url, folder);
    expect(await pictureOf(api, demo)).to.deep.equal(picture);
    // A run that is interrupted before it wrote there, and goes on much later, finds that its place is gone.
    const { 'formatting-text': _text, ...rest } = made;
    openNotes(folder).keep({ made: rest });
    await api.platform.db.idempotency.deleteMany({});
    expect((await seed(api.url, folder)).made).to.deep.equal({ ...made, 'formatting-text': null });
    expect(await pictureOf(api, demo)).to.deep.equal(picture);
    // Without /hello the printed command is for nothing: it comes back, alone.
    await bearer()('PUT', path, [{ name: 'mine', description: 'My own' }]);
    demo = await seed(api.url, folder);
    const commands = await bearer()<{ id: string; name: string }[]>('GET', path);
    expect(commands.map(({ name }) => name)).to.have.members(['mine', 'hello']);
    expect(commands.map(({ id }) => id)).to.include(demo.command.id);
  });
});

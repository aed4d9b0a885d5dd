import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { apiClient } from '../../apps/local/api-client.ts';
import { helloAnswer } from '../../apps/local/demo-bot.ts';
import { invitation } from '../../apps/local/invitation.ts';
import { type Demo, seed } from '../../apps/local/seed.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';

describe('the demo that npm start seeds', () => {
  let api: TestApi;
  let folder: string;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parlance-seed-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const file = (): string => join(folder, 'demo.json');
  const bearer = (demo: Demo) => apiClient(api.url, `Bearer ${demo.person.token}`);

  it('makes a person, a server with the bot in it, and the command; readable by the owner only', async () => {
    const demo = await seed(api.url, folder);
    expect(statSync(file()).mode & 0o777).to.equal(0o600);
    const server = await bearer(demo)<{ name: string }>('GET', `/api/servers/${demo.server.id}`);
    expect(server.name).to.equal('Demo');
    const picker = await bearer(demo)<{ id: string; name: string }[]>('GET', `/api/channels/${demo.server.channelId}/commands`);
    expect(picker.map(({ id, name }) => ({ id, name }))).to.deep.equal([{ id: demo.command.id, name: 'hello' }]);
    const bot = apiClient(api.url, `Bot ${demo.application.token}`);
    await bot('POST', `/api/channels/${demo.server.channelId}/messages`, { content: 'Hello' });
  });

  it('changes nothing the second time', async () => {
    const demo = await seed(api.url, folder);
    const before = readFileSync(file(), 'utf8');
    expect(await seed(api.url, folder)).to.deep.equal(demo);
    expect(readFileSync(file(), 'utf8')).to.equal(before);
  });

  it('logs in again when the token is gone, and makes a server anew when that is gone', async () => {
    const demo = await seed(api.url, folder);
    await bearer(demo)('POST', '/api/auth/logout');
    const again = await seed(api.url, folder);
    expect(again.person.id).to.equal(demo.person.id);
    expect(again.person.token).to.not.equal(demo.person.token);
    await bearer(again)('DELETE', `/api/servers/${again.server.id}`);
    const third = await seed(api.url, folder);
    expect(third.server.id).to.not.equal(demo.server.id);
    expect(third.application).to.deep.equal(demo.application);
    await apiClient(api.url, `Bot ${third.application.token}`)('GET', `/api/servers/${third.server.id}`);
  });

  it('begins anew, under another name, when what it remembers is of another database', async () => {
    const demo = await seed(api.url, folder);
    rmSync(file());
    const other = await seed(api.url, folder);
    expect(existsSync(file())).to.equal(true);
    expect(other.person.id).to.not.equal(demo.person.id);
    expect(other.person.username).to.match(/^demo_[0-9a-f]{6}$/);
  });
});

describe('what npm start prints', () => {
  const demo: Demo = {
    person: { id: '1', username: 'demo', password: 'pw', token: 'person-token' },
    server: { id: '2', channelId: '3' },
    application: { id: '4', botId: '5', token: 'bot-token' },
    command: { id: '6' },
  };
  const addresses = { baseUrl: 'http://localhost:9080', gatewayUrl: 'ws://localhost:8081', opsUrl: 'http://localhost:8082' };

  it('has three commands to paste', () => {
    const commands = invitation(addresses, demo, true).match(/^ {2}(?:curl|npm) .*$/gm);
    expect(commands).to.have.length(3);
    expect(commands?.[0]).to.equal('  npm run listen -- person-token');
  });
  it('tells npm run listen where the API is when it is not at the usual port', () => {
    expect(invitation(addresses, demo, false)).to.contain('  BASE_URL=http://localhost:9080 npm run listen -- person-token');
  });
});

describe('/hello', () => {
  const user = { id: '1', username: 'ada', displayName: 'Ada', avatarUrl: null, roles: [] };
  it('greets who is named, else who asks', () => {
    const named = [{ name: 'name', type: 'string', value: 'Grace' }];
    expect(helloAnswer({ user, data: { id: '2', name: 'hello', options: named } })).to.equal('Hello, Grace!');
    expect(helloAnswer({ user, data: { id: '2', name: 'hello', options: [] } })).to.equal('Hello, Ada!');
  });
});

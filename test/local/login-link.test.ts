import { expect } from 'chai';
import { apiClient } from '../../apps/local/api-client.ts';
import { claimFolder, writeRunningEnv } from '../../apps/local/data-folder.ts';
import { type Demo, openNotes } from '../../apps/local/demo-notes.ts';
import { loginLink } from '../../apps/local/login-link.ts';
import { startMessage } from '../../apps/local/start-message.ts';
import type { Session } from '../../lib/contract/auth.ts';
import { startTestApi } from '../harness/api.ts';
import { makePerson, password } from '../harness/factories.ts';
import { makeFolder } from '../harness/folder.ts';
import { tally } from '../harness/requests.ts';
import { use } from '../harness/use.ts';
import { type Run, runScript } from '../operator/run-operator.ts';

const addresses = { baseUrl: 'http://localhost:9080', gatewayUrl: 'ws://localhost:8081', opsUrl: 'http://localhost:8082' };
const pattern = /^http:\/\/localhost:9080\/login#code=([A-Za-z0-9_-]{43})$/;

describe('loginLink', () => {
  const api = use(() => startTestApi());

  const logIn = (link: string) => api.call<Session>('POST', '/api/auth/code', { body: { code: pattern.exec(link)?.[1] } });

  it('returns a link that logs in once', async () => {
    const { id, token } = await makePerson(api);
    const link = await loginLink(apiClient(api.url, `Bearer ${token}`), addresses.baseUrl);
    expect(link).to.match(pattern).and.not.contain(token);
    const answers = await Promise.all([logIn(link), logIn(link)]);
    expect(tally(answers)).to.deep.equal({ 200: 1, 401: 1 });
    expect(answers.find(({ status }) => status === 200)?.body.user.id).to.equal(id);
  });

  it('returns a link that opens a channel', async () => {
    const { token } = await makePerson(api);
    const link = await loginLink(apiClient(api.url, `Bearer ${token}`), addresses.baseUrl, { id: '2', channelId: '3' });
    expect(link).to.match(/^http:\/\/localhost:9080\/login\?next=\/servers\/2\/3#code=[\w-]{43}$/);
  });

  describe('apps/local/link.ts', () => {
    const folder = use(makeFolder, { each: true });
    const run = (): Promise<Run> => runScript('apps/local/link.js', [], { DATA_DIR: folder.path });

    it('prints a new link of the instance that runs from the folder', async () => {
      const { id, username, token } = await makePerson(api);
      openNotes(folder.path).keep({ person: { id, username, password, token } });
      const release = await claimFolder(folder.path);
      const removeFile = writeRunningEnv(folder.path, { PORT: new URL(api.url).port, BASE_URL: addresses.baseUrl });
      const { exit, stdout, stderr } = await run();
      expect([exit, stderr]).to.deep.equal([0, '']);
      const { status, body } = await logIn(stdout.trim());
      expect([status, body.user.id]).to.deep.equal([200, id]);
      await api.call('POST', '/api/auth/logout', { as: `Bearer ${token}` });
      expect(await run()).to.deep.equal({
        exit: 1,
        stdout: '',
        stderr: 'The demo person was logged out. Restart `npm start` to log them in again.\n',
      });
      removeFile();
      release();
    });

    it('exits with 69 and one line that says what to do if nothing runs or responds', async () => {
      const notRunning = { exit: 69, stdout: '', stderr: `Parlance is not running from ${folder.path}. Start it with \`npm start\`.\n` };
      expect(await run()).to.deep.equal(notRunning);
      openNotes(folder.path).keep({ person: { id: '1', username: 'demo', password, token: 'x' } });
      expect(await run()).to.deep.equal(notRunning);
      const release = await claimFolder(folder.path);
      const removeFile = writeRunningEnv(folder.path, { PORT: '1', BASE_URL: addresses.baseUrl });
      const unresponsive = await run();
      expect([unresponsive.exit, unresponsive.stdout]).to.deep.equal([69, '']);
      expect(unresponsive.stderr).to.match(/^The API does not respond \(.+\)\.\n$/);
      removeFile();
      release();
    });
  });
});

describe('startMessage', () => {
  const demo: Demo = {
    person: { id: '1', username: 'demo', password: 'pw', token: 'person-token' },
    server: { id: '2', channelId: '3' },
    application: { id: '4', botId: '5', token: 'bot-token' },
    command: { id: '6' },
    guest: { id: '7', username: 'ada', password: 'pw too', token: 'guest-token' },
    made: {},
  };
  const link = 'http://localhost:9080/login#code=x';

  it('begins with the link, its lifetime and how to get another, and has three commands to paste', () => {
    const message = startMessage(addresses, demo, link, true);
    const [, first, , second, , third] = message.split('\n');
    expect(first).to.contain('Open this link in a browser');
    expect(second).to.equal(`  ${link}`);
    expect(third).to.contain('expires after 15 minutes. `npm run link`');
    const commands = message.match(/^ {2}(?:curl|npm) .*$/gm);
    expect(commands).to.have.length(3);
    expect(commands?.[0]).to.equal('  npm run listen -- person-token');
  });
  it('sets BASE_URL for npm run listen if the address is not the default', () => {
    expect(startMessage(addresses, demo, link, false)).to.contain('  BASE_URL=http://localhost:9080 npm run listen -- person-token');
  });
});

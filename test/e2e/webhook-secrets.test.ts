import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import type { NewWebhook } from '../../lib/contract/webhook.ts';
import { startTestApi } from '../harness/api.ts';
import { connectBot } from '../harness/bot-client.ts';
import { dumpMongo, dumpRedis } from '../harness/dumps.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { seedServer } from '../harness/seed.ts';
import { spareDatabases } from '../harness/spare-databases.ts';
import { isReady, type RoleName, rolePath } from '../harness/stack.ts';
import { connectRedis } from '../harness/stores.ts';
import { make, use } from '../harness/use.ts';
import { storesOf } from '../operator/run-operator.ts';

describe('webhook secrets in stored data and logs', () => {
  const api = use(() => startTestApi());
  const redis = use(() => connectRedis(api.platform.config));
  const seeded = make(() => seedServer(api.platform, { bots: 1, channels: 1 }));
  let output = '';
  const children: ChildProcess[] = [];
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  /** Starts a compiled role on the same stores with LOG_LEVEL trace; returns its port. */
  const start = async (role: RoleName): Promise<number> => {
    const { config } = api.platform;
    const port = String(await freePort());
    spareDatabases.spend(config.MONGODB_URL);
    const own = { ...storesOf(config), FILES_DIR: config.FILES_DIR };
    const child = spawn(process.execPath, [rolePath(role)], {
      env: { ...process.env, ...own, PORT: port, GATEWAY_PORT: port, RATE_LIMIT: 'off', LOG_LEVEL: 'trace' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(child);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece: Buffer) => (output += piece.toString()));
    await isReady(child);
    return Number(port);
  };

  it('no webhook token or URL is in the database, in Redis, in a job or in a log, and no other token, password or message in a log', async () => {
    const dumps: string[] = [];
    const dump = async (): Promise<number> =>
      dumps.push(await dumpMongo(api.platform), await dumpRedis(redis, api.platform.config.REDIS_PREFIX));
    const url = `http://127.0.0.1:${await start('api')}`;
    const call = async (method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${seeded.ownerToken}`, 'Content-Type': 'application/json', ...more };
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: text }) });
      const answer = await response.text();
      return answer && (JSON.parse(answer) as unknown);
    };
    const password = 'a-password-to-look-for';
    const { token } = (await call('POST', '/api/auth/register', { username: 'logged', password })) as { token: string };
    await call('POST', '/api/auth/login', { username: 'logged', password: `${password}-wrong` });
    const asLogged = { Authorization: `Bearer ${token}` };
    const application = (await call('POST', '/api/applications', { name: 'x' }, asLogged)) as { token: string; signingSecret: string };
    const messages = `/api/channels/${seeded.channelIds[0]}/messages`;
    for (const body of [{ content: 'words-to-look-for' }, { content: 5, hidden: 'words-to-look-for' }]) await call('POST', messages, body);
    await call('POST', '/api/interactions/1000000000000000000/path-token-to-look-for/callback');
    const inChannel = `/api/channels/${seeded.channelIds[0]}/webhooks`;
    const made = (await call('POST', inChannel, { name: 'hook' }, { 'Idempotency-Key': 'made' })) as NewWebhook;
    const other = (await call('POST', inChannel, { name: 'other' })) as NewWebhook;
    await call('GET', inChannel);
    await call('PATCH', `/api/webhooks/${made.id}`, { name: 'renamed' });
    const path = `/api/webhooks/${made.id}/${made.token}`;
    const wrongToken = 'wrong-token-to-look-for';
    await call('POST', path, { content: 'x' }, { 'Idempotency-Key': 'posted' });
    for (const body of ['{', '{}', { content: 5 }, { content: 'x' }]) await call('POST', path, body);
    for (let n = 0; n < 6; n++) await call('POST', path, { content: 'many' });
    for (const tail of ['', '/codehost']) await call('POST', `/api/webhooks/${made.id}/${wrongToken}${tail}`, { content: 'x' });
    await call('GET', path);
    const push = {
      ref: 'refs/heads/main',
      commits: [{ id: 'abc', message: 'x', url: 'https://example.org/' }],
      repository: { full_name: 'a/b' },
    };
    for (const event of ['ping', 'push'])
      await call('POST', `/api/webhooks/${other.id}/${other.token}/codehost`, push, { 'X-GitHub-Event': event });
    await call('POST', `${path}/codehost`, '{', { 'X-GitHub-Event': 'push' });
    await dump();
    expect(dumps[1], 'jobs are queued').to.include(`wh-${other.id}`);

    await start('worker');
    const gateway = await start('gateway');
    const received: string[] = [];
    const bot = connectBot({
      urlOf: () => `ws://127.0.0.1:${gateway}/gateway?v=1`,
      token: String(seeded.bots[0]?.token),
      onEvent: ({ t, d }) => void (t === 'MESSAGE_CREATE' && received.push(String(d.content))),
    });
    await bot.ready;
    await waitUntil(async () => (await api.platform.db.messages.countDocuments({ authorId: other.id })) > 0, 'the delivery is posted');
    await call('POST', `/api/webhooks/${other.id}/${other.token}`, { content: 'last' });
    await waitUntil(() => received.includes('last'), 'the last message arrives');
    await dump();
    await call('DELETE', `/api/webhooks/${other.id}`);
    await bot.close();
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map((child) => once(child, 'exit')));
    await dump();
    dumps.push(output);

    expect(output)
      .to.include('/api/webhooks/{webhookId}/{webhookToken}')
      .and.to.include('/api/channels/{channelId}/messages')
      .and.to.include('"role":"worker"')
      .and.to.include('"role":"gateway"');
    const { token: appToken, signingSecret } = application;
    const APP_KEY = api.platform.config.APP_KEY.toString('base64');
    for (const secret of [token, password, 'words-to-look-for', appToken, signingSecret, 'path-token-to-look-for', APP_KEY])
      expect(output.includes(secret), secret).to.equal(false);
    for (const text of dumps)
      for (const secret of [made.token, other.token, wrongToken, made.url, `${made.id}/${made.token}`, `/api/webhooks/${made.id}/`])
        expect(text.includes(secret), secret).to.equal(false);
  });
});

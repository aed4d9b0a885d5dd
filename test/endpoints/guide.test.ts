import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { signRequest } from '../../lib/store/seal.ts';
import { postWhole } from '../harness/endpoint-fixture.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';

const readme = readFileSync('README.md', 'utf8');
const guide = readme.slice(readme.indexOf('### Slash commands without a connection'));
const block = (language: string): string => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? '';
const [, secret = '', timestamp = '', body = ''] = /secret `(\w+)`, the timestamp `(\d+)` and the body `(\{.*?\})`/.exec(guide) ?? [];
const [, signature = ''] = /give the signature\n`(\w{64})`/.exec(guide) ?? [];

describe('the Interactions Endpoint example in the README', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-guide-'));
  let port: number;
  let running: ChildProcess | null = null;
  before(async () => {
    port = await freePort();
    writeFileSync(join(folder, 'endpoint.mjs'), block('js'));
  });
  after(() => {
    running?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const fixture = use(() => startInteractionFixture({ OUTBOUND_ALLOW: `127.0.0.1:${port}` }));

  const start = async (signingSecret: string): Promise<void> => {
    running?.kill('SIGKILL');
    running = spawn(process.execPath, [join(folder, 'endpoint.mjs')], {
      env: { ...process.env, SIGNING_SECRET: signingSecret, PORT: String(port) },
      stdio: 'inherit',
    });
    const asks = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}`, { method: 'POST' }).then(
        (answer) => answer.status === 401,
        () => false,
      );
    await waitUntil(asks, 'the endpoint listens and refuses unsigned requests');
  };
  const save = () =>
    fixture.api.call<Record<string, unknown>>('PATCH', `/api/applications/${fixture.bot.applicationId}`, {
      as: fixture.asPerson,
      body: { interactionsEndpointUrl: `http://127.0.0.1:${port}/` },
    });

  it('fails its ping with another secret; with the right one its URL is saved and it answers a command', async () => {
    await start('another');
    expect((await save()).body).to.deep.include({ code: 'endpoint_unverified' });
    const path = `/api/applications/${fixture.bot.applicationId}`;
    const { body: application } = await fixture.api.call<{ signingSecret: string }>('GET', path, { as: fixture.asPerson });
    running?.kill('SIGKILL');
    await waitUntil(
      () =>
        fetch(`http://127.0.0.1:${port}`).then(
          () => false,
          () => true,
        ),
      'the first process has exited',
    );
    await start(application.signingSecret);
    expect((await save()).status).to.equal(200);
    const id = await fixture.use();
    await postWhole(fixture.worker, id);
    expect((await fixture.stored(id)).state).to.equal('answered');
    expect((await fixture.messages()).map(({ content }) => content)).to.deep.equal(['/hello was used by person']);
  });

  it('the example signature is correct', () => {
    expect(signature).to.have.length(64);
    expect(signRequest(secret, timestamp, Buffer.from(body))).to.equal(signature);
  });

  it('the Python check accepts only a current, valid signature', function () {
    const probe = `${block('python')}
import sys
now = str(int(time.time()))
sign = lambda secret, sent, body: hmac.new(secret.encode(), sent.encode() + b"." + body, hashlib.sha256).hexdigest()
headers = lambda sent, signature: {"X-Service-Timestamp": sent, "X-Service-Signature": signature}
old = str(int(time.time()) - 310)
print(is_signed("s", headers(now, sign("s", now, b"x")), b"x"), is_signed("s", headers(now, sign("t", now, b"x")), b"x"),
  is_signed("s", headers(old, sign("s", old, b"x")), b"x"), is_signed("s", {}, b"x"))`;
    const { status, stdout } = spawnSync('python3', ['-c', probe], { encoding: 'utf8' });
    if (status === null) this.skip(); // no Python on this machine
    expect(stdout.trim()).to.equal('True False False False');
  });
});

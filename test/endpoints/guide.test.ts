import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { signatureOf } from '../../lib/store/seal.ts';
import { postWhole } from '../harness/endpoint-scene.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';

const readme = readFileSync('README.md', 'utf8');
const guide = readme.slice(readme.indexOf('### Slash commands without a connection'));
const block = (language: string): string => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? '';
const [, secret = '', timestamp = '', body = ''] = /secret `(\w+)`, the timestamp `(\d+)` and the body `(\{.*?\})`/.exec(guide) ?? [];
const [, signature = ''] = /give the signature\n`(\w{64})`/.exec(guide) ?? [];

describe('the endpoint of the README', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-guide-'));
  let port: number;
  let scene: Scene;
  let running: ChildProcess | null = null;
  before(async () => {
    port = await freePort();
    writeFileSync(join(folder, 'endpoint.mjs'), block('js'));
    scene = await startScene({ OUTBOUND_ALLOW: `127.0.0.1:${port}` });
  });
  after(async () => {
    running?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    await scene.close();
  });

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
    await until(asks, 'the endpoint listens, and turns away what is not signed');
  };
  const save = () =>
    scene.api.call<Record<string, unknown>>('PATCH', `/api/applications/${scene.bot.applicationId}`, {
      as: scene.asPerson,
      body: { interactionsEndpointUrl: `http://127.0.0.1:${port}/` },
    });

  it('is refused under another secret; under its own it is saved, and answers a command', async () => {
    await start('another');
    expect((await save()).body).to.deep.include({ code: 'endpoint_unverified' });
    const { body: application } = await scene.api.call<{ signingSecret: string }>('GET', `/api/applications/${scene.bot.applicationId}`, {
      as: scene.asPerson,
    });
    running?.kill('SIGKILL');
    await until(
      () =>
        fetch(`http://127.0.0.1:${port}`).then(
          () => false,
          () => true,
        ),
      'the first one is gone',
    );
    await start(application.signingSecret);
    expect((await save()).status).to.equal(200);
    const id = await scene.use();
    await postWhole(scene.worker, id);
    expect((await scene.stored(id)).state).to.equal('answered');
    expect((await scene.messages()).map(({ content }) => content)).to.deep.equal(['/hello was used by person']);
  });

  it('the example of a signature is right', () => {
    expect(signature).to.have.length(64);
    expect(signatureOf(secret, timestamp, Buffer.from(body))).to.equal(signature);
  });

  it('the check in Python takes what is signed now, and nothing else', function () {
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

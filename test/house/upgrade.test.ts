import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

/** Docker as far as the script uses it. It writes its arguments to `calls`, and keeps the containers of each service in a file. FAIL names what fails. */
const docker = `#!/bin/sh
echo "docker $*" >> calls
case "$*" in
  *"$FAIL"*) [ -z "$FAIL" ] || failed=1 ;;
esac
case "$*" in
  "compose ps"*) for last in "$@"; do :; done; cat "$last" ;;
  "compose up"*--scale*) for last in "$@"; do :; done; sed 's/old/new/' "$last" > more; cat more >> "$last" ;;
esac
exit "\${failed:-0}"
`;

describe('deploy/upgrade.sh', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parlance-upgrade-'));
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'deploy'));
    cpSync('deploy/upgrade.sh', join(folder, 'deploy/upgrade.sh'));
    for (const [name, text] of Object.entries({ docker, git: '#!/bin/sh\necho "git $*" >> calls\n', sleep: '#!/bin/sh\n' })) {
      writeFileSync(join(folder, 'bin', name), text);
      chmodSync(join(folder, 'bin', name), 0o755);
    }
    for (const [service, count] of Object.entries({ gateway: 2, worker: 1, api: 2 }))
      writeFileSync(join(folder, service), Array.from({ length: count }, (_, at) => `${service}-old-${at}\n`).join(''));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = async (fail = '', ...args: string[]): Promise<{ code: number; calls: string[]; stderr: string }> => {
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, FAIL: fail };
    const { code, stderr } = await promisify(execFile)(join(folder, 'deploy/upgrade.sh'), args, { env }).then(
      (output) => ({ code: 0, stderr: output.stderr }),
      (error: { code: number; stderr: string }) => error,
    );
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
    return { code, calls: calls.filter((call) => !call.includes(' ps ')), stderr };
  };
  const up = (service: string, count: number): string =>
    `docker compose up --detach --no-deps --no-recreate --wait --wait-timeout 180 --scale ${service}=${count} ${service}`;
  const replaced = (service: string, count: number): string[] => [
    up(service, count * 2),
    ...Array.from({ length: count }, (_, at) => [`docker stop ${service}-old-${at}`, `docker rm ${service}-old-${at}`]).flat(),
  ];
  const prepared = ['git pull --ff-only', 'docker compose build', 'docker compose run --rm migrate'];

  it('migrates, and stops old containers one after another when the new ones of their service are healthy', async () => {
    const { code, calls } = await run();
    expect(code).to.equal(0);
    expect(calls).to.deep.equal([
      ...prepared,
      ...replaced('gateway', 2),
      ...replaced('worker', 1),
      ...replaced('api', 2),
      'docker compose up --detach --scale gateway=2 --scale worker=1 --scale api=2',
    ]);
  });

  it('upgrades to the version in its folder with --no-pull', async () => {
    expect((await run('', '--no-pull')).calls[0]).to.equal('docker compose build');
  });

  it('touches no container if the migration fails', async () => {
    const { code, calls } = await run('run --rm migrate');
    expect([code, calls]).to.deep.equal([1, prepared]);
  });

  it('removes new containers that do not become healthy, and leaves the old ones', async () => {
    const { code, calls, stderr } = await run('--scale worker');
    expect(code).to.equal(1);
    expect(calls).to.deep.equal([...prepared, ...replaced('gateway', 2), up('worker', 2), 'docker rm --force worker-new-0']);
    expect(stderr).to.contain('worker: the new containers did not become healthy');
  });

  it('starts a service that does not run with the rest', async () => {
    writeFileSync(join(folder, 'worker'), '');
    const rest = 'docker compose up --detach --scale gateway=2 --scale api=2';
    expect((await run()).calls).to.deep.equal([...prepared, ...replaced('gateway', 2), ...replaced('api', 2), rest]);
  });
});

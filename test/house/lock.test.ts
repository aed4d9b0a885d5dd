import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

describe('package-lock.json', () => {
  it('names the binaries of every platform, so that npm ci works on each (else run: node .ci/complete-lock.mjs)', () => {
    const { stdout, status } = spawnSync(process.execPath, ['.ci/complete-lock.mjs', '--check'], { encoding: 'utf8' });
    expect(stdout).to.equal('');
    expect(status).to.equal(0);
  });
});

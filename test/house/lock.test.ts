import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';

interface Locked {
  integrity?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

describe('package-lock.json', () => {
  it('names the binaries of every platform, so that npm ci works on each (else run: node .ci/complete-lock.mjs)', () => {
    const { stdout, status } = spawnSync(process.execPath, ['.ci/complete-lock.mjs', '--check'], { encoding: 'utf8' });
    expect(stdout).to.equal('');
    expect(status).to.equal(0);
  });

  it('holds the checksum of every package, but for binaries of other platforms (run: node .ci/complete-lock.mjs --integrity)', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
    const isElsewhere = ({ optional, os = [], cpu = [], libc = [] }: Locked): boolean =>
      optional === true && (!os.includes('linux') || !cpu.some((one) => ['x64', 'arm64'].includes(one)) || libc.includes('musl'));
    const without = Object.entries(packages).filter(([path, one]) => path !== '' && !one.integrity && !isElsewhere(one));
    expect(without.map(([path]) => path)).to.deep.equal([]);
  });
});

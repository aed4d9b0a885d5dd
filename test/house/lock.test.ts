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
  it('lists the binaries of every platform (if not, run: node .ci/complete-lock.mjs)', () => {
    const { stdout, status } = spawnSync(process.execPath, ['.ci/complete-lock.mjs', '--check'], { encoding: 'utf8' });
    expect(stdout).to.equal('');
    expect(status).to.equal(0);
  });

  it('has the checksum of every package except binaries of other platforms (if not, run: node .ci/complete-lock.mjs --integrity)', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
    const isForOtherPlatform = ({ optional, os = [], cpu = [], libc = [] }: Locked): boolean =>
      optional === true && (!os.includes('linux') || !cpu.some((one) => ['x64', 'arm64'].includes(one)) || libc.includes('musl'));
    const incomplete = Object.entries(packages).filter(([path, one]) => path !== '' && !one.integrity && !isForOtherPlatform(one));
    expect(incomplete.map(([path]) => path)).to.deep.equal([]);
  });
});

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { expect } from 'chai';
import { readSource } from './imports.ts';

/** The programs of the image, which `Dockerfile` copies together with what they import. The pages are bundled, so they import nothing at run time. */
const programs = [
  'apps/api/main.ts',
  'apps/gateway/main.ts',
  'apps/ops/main.ts',
  'apps/operator/main.ts',
  'workers/main.ts',
  'workers/image-encoder-child.ts',
  'deploy/health.mjs',
];

/** All files that these programs load, with the packages that each imports. */
function listShippedFiles(): Map<string, string[]> {
  const files = new Map<string, string[]>();
  const visit = (path: string): void => {
    if (files.has(path)) return;
    const { runtimeImports, packages } = readSource(path, readFileSync(path, 'utf8'));
    files.set(path, packages);
    runtimeImports.forEach(visit);
  };
  programs.forEach(visit);
  return files;
}

describe('packages of the image', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
  const files = listShippedFiles();

  it('every production dependency is imported by a file that ships', () => {
    const imported = new Set([...files.values()].flat());
    expect(Object.keys(dependencies ?? {}).filter((name) => !imported.has(name))).to.deep.equal([]);
  });

  it('no file that ships imports another package', () => {
    const isShipped = (name: string): boolean => name.startsWith('node:') || builtinModules.includes(name) || name in (dependencies ?? {});
    const others = [...files].flatMap(([path, packages]) => packages.filter((name) => !isShipped(name)).map((name) => `${path}: ${name}`));
    expect(others).to.deep.equal([]);
    expect(devDependencies).to.not.have.any.keys(...Object.keys(dependencies ?? {}));
  });

  it('no file of apps/local and no test ships, and the image has no copy of apps/local', () => {
    expect([...files.keys()].filter((path) => /^(apps\/local|test)\//.test(path))).to.deep.equal([]);
    expect(readFileSync('Dockerfile', 'utf8')).to.match(/rm -r dist\/apps\/local/);
  });
});

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

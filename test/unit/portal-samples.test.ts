import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { javascriptEndpoint } from '../../apps/web/developers/samples/javascript-endpoint.ts';
import { javascriptGateway } from '../../apps/web/developers/samples/javascript-gateway.ts';
import { pythonEndpoint } from '../../apps/web/developers/samples/python-endpoint.ts';
import { pythonGateway } from '../../apps/web/developers/samples/python-gateway.ts';
import { commandLine, pythonKit, quoted } from '../../apps/web/developers/samples/sample.ts';

const base = 'http://localhost:8080';
const samples = { javascriptGateway, pythonGateway, javascriptEndpoint, pythonEndpoint };

describe('code samples of the developer portal', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'samples-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const [name, sampleOf] of Object.entries(samples)) {
    const sample = sampleOf(base);

    it(`${name} has the URLs of the server and the kit, no placeholder, no secret, and a command line`, () => {
      expect(sample.code.split(base)).to.have.length(2);
      expect(sample.install).to.contain(`install ${base}/developers/kits/parlance`);
      expect(sample.code).not.to.match(/undefined:|\$\{|\bnull:|\[object|<[A-Z_]+>|TODO|your[_ -]/i);
      if (sample.secret === 'SIGNING_SECRET') expect(sample.code).to.contain(sample.secret);
      expect(commandLine(sample, 's3cret')).to.equal(`${sample.secret}='s3cret' ${sample.run}`);
      expect(commandLine(sample, undefined), 'a placeholder for an unknown secret').to.match(/='your /);
      expect(sample.run).to.contain(sample.file);
    });

    it(`${name} has valid syntax`, function () {
      const file = join(folder, sample.file);
      writeFileSync(file, sample.code);
      if (file.endsWith('.mjs')) execFileSync(process.execPath, ['--check', file]);
      else if (spawnSync('python3', ['--version']).status !== 0) this.skip();
      else execFileSync('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', file]);
    });
  }

  it('the URL of the Python kit has its version', () => {
    const version = /^VERSION = "(.+)"/m.exec(readFileSync('sdk/python/parlance/version.py', 'utf8'))?.[1];
    expect(pythonKit).to.contain(`/parlance-${version}-py3`);
  });

  it('quoted escapes values so that they cannot end a string, in either language', () => {
    const hostile = '"\\";process.exit(1)//\n\u2028\u2029';
    expect(JSON.parse(quoted(hostile))).to.equal(hostile);
    expect(quoted(hostile)).not.to.match(/[\n\u2028\u2029]/);
  });
});

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { javascriptEndpoint } from '../../apps/web/developers/samples/javascript-endpoint.ts';
import { javascriptGateway } from '../../apps/web/developers/samples/javascript-gateway.ts';
import { pythonEndpoint } from '../../apps/web/developers/samples/python-endpoint.ts';
import { pythonGateway } from '../../apps/web/developers/samples/python-gateway.ts';
import { commandLine, quoted } from '../../apps/web/developers/samples/sample.ts';

const values = { base: 'http://localhost:8080', applicationId: '1234567890123456789' };
const samples = { javascriptGateway, pythonGateway, javascriptEndpoint, pythonEndpoint };

describe('code samples of the developer portal', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'samples-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const [name, sampleOf] of Object.entries(samples)) {
    const sample = sampleOf(values);
    const isGateway = sample.secret === 'BOT_TOKEN';

    it(`${name} contains the application's id once, and the server's URL if it calls the API`, () => {
      expect(sample.code.split(values.applicationId)).to.have.length(2);
      expect(sample.code.split(values.base)).to.have.length(isGateway ? 2 : 1);
    });

    it(`${name} has no placeholder left, and no other id or secret`, () => {
      expect(sample.code).not.to.match(/undefined:|\$\{|\bnull:|\[object|<[A-Z_]+>|TODO|your[_ -]/i);
      expect(sample.code.match(/\d{17,}/g)).to.deep.equal([values.applicationId]);
      expect(sample.code).to.contain(sample.secret);
    });

    it(`${name} has valid syntax`, function () {
      const file = join(folder, sample.file);
      writeFileSync(file, sample.code);
      if (file.endsWith('.mjs')) execFileSync(process.execPath, ['--check', file]);
      else if (spawnSync('python3', ['--version']).status !== 0) this.skip();
      else execFileSync('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', file]);
    });

    it(`${name} has a command line, with a placeholder for the secret only if it is unknown`, () => {
      expect(commandLine(sample, 's3cret')).to.equal(`${sample.secret}='s3cret' ${sample.run}`);
      expect(commandLine(sample, undefined)).to.match(/='your /);
      expect(sample.run).to.contain(sample.file);
    });
  }

  it('quoted escapes values so that they cannot end a string, in either language', () => {
    const hostile = '"\\";process.exit(1)//\n\u2028\u2029';
    expect(JSON.parse(quoted(hostile))).to.equal(hostile);
    expect(quoted(hostile)).not.to.match(/[\n\u2028\u2029]/);
  });
});

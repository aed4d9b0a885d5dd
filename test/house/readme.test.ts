import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { settings } from '../../config/index.ts';
import { catalogue } from '../../lib/base/errors.ts';

const readme = readFileSync('README.md', 'utf8');
const contributing = readFileSync('CONTRIBUTING.md', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/** The table of settings as the README must have it. */
const rows = Object.entries(settings).map(([name, { about, fallback }]) => {
  const standard = fallback === undefined ? '*required*' : fallback === '' ? '*empty*' : `\`${fallback}\``;
  return `| \`${name}\` | ${standard} | ${about} |`;
});

describe('README.md', () => {
  it('begins with what it is, then npm start, then npm test', () => {
    expect(readme.split('\n')[0]).to.equal('# Parlance');
    expect(readme.indexOf('npm start')).to.be.within(1, 400);
    expect(readme.indexOf('npm test')).to.be.within(readme.indexOf('npm start'), 600);
  });

  it('documents every setting with its default, and no other', () => {
    const found = readme.split('\n').filter((line) => /^\| `[A-Z0-9_]+` \|/.test(line));
    expect(found).to.deep.equal(rows);
  });

  for (const [name, text] of Object.entries({ readme, contributing })) {
    it(`every script named in the ${name} exists`, () => {
      const named = [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, script]) => script ?? '');
      const plain = [...text.matchAll(/npm (start|test)\b/g)].map(([, script]) => script ?? '');
      expect([...named, ...plain].filter((script) => !(script in scripts))).to.deep.equal([]);
    });

    it(`every file named in the ${name} exists`, () => {
      const named = [...text.matchAll(/`((?:config|lib|workers|apps|test|deploy|\.ci)\/[\w./-]+?)`/g)].map(([, path]) => path ?? '');
      expect(named.length).to.be.greaterThan(0);
      expect(named.filter((path) => !existsSync(path))).to.deep.equal([]);
    });
  }

  it('speaks only of error codes that exist', () => {
    const codes = [...contributing.matchAll(/refuse\('(\w+)'/g)].map(([, code]) => code ?? '');
    expect(codes.filter((code) => !(code in catalogue))).to.deep.equal([]);
  });
});

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { expect } from 'chai';
import { settings } from '../../config/index.ts';
import { catalogue } from '../../lib/base/errors.ts';

const readme = readFileSync('README.md', 'utf8');
const contributing = readFileSync('CONTRIBUTING.md', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/** The expected start of every row of the table in docs/operations.md#settings. */
const rows = Object.entries(settings).map(([name, { description, defaultText: fallback }]) => {
  const defaultText = fallback === undefined ? '*required*' : fallback === '' ? '*empty*' : `\`${fallback}\``;
  return `| \`${name}\` | ${defaultText} | ${description} |`;
});

describe('docs/operations.md', () => {
  it('documents every setting with its default, and no other', () => {
    const found = readFileSync('docs/operations.md', 'utf8')
      .split('\n')
      .filter((line) => /^\| `[A-Z0-9_]+` \|/.test(line));
    expect(found.map((line) => line.split(' | ').slice(0, 3).join(' | '))).to.deep.equal(rows.map((row) => row.replace(/ \|$/, '')));
  });
});

describe('README.md', () => {
  it('begins with the name, then npm start, then npm test', () => {
    expect(readme.split('\n')[0]).to.equal('# Parlance');
    expect(readme.indexOf('npm start')).to.be.within(1, 400);
    expect(readme.indexOf('npm test')).to.be.within(readme.indexOf('npm start'), 600);
  });

  it('shows all pictures of docs/pictures, each below 64 kB and with an alternative text', () => {
    const pictures = [...readme.matchAll(/<img src="([^"]+)" alt="([^"]+)"/g)];
    expect(pictures).to.have.length(readdirSync('docs/pictures').length);
    for (const [, path = '', alt] of pictures) {
      expect(statSync(path).size, path).to.be.below(64_000);
      expect(alt).to.have.length.above(5);
    }
  });

  for (const [name, text] of Object.entries({ readme, contributing })) {
    it(`every script named in the ${name} exists`, () => {
      const named = [...text.matchAll(/npm run ([a-z:-]+)/g)].map(([, script]) => script ?? '');
      const plain = [...text.matchAll(/npm (start|test)\b/g)].map(([, script]) => script ?? '');
      expect([...named, ...plain].filter((script) => !(script in scripts))).to.deep.equal([]);
    });
  }

  it('names only existing error codes', () => {
    const codes = [...contributing.matchAll(/refuse\('(\w+)'/g)].map(([, code]) => code ?? '');
    expect(codes.filter((code) => !(code in catalogue))).to.deep.equal([]);
  });
});

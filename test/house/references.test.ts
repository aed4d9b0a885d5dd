import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file) && !file.includes('node_modules'))
    .map((file) => join(folder, file));

const sources = ['lib', 'apps', 'workers', 'config', 'test'].flatMap((folder) => filesIn(folder, /\.(tsx?|mjs|css)$/));
const pages = ['README.md', 'CONTRIBUTING.md', ...filesIn('docs', /\.md$/)];

/** A heading as it stands in a link. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const anchors = new Map(
  pages.map((page) => [page, [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))]),
);

/** Whether a path exists and, of a page, the heading. */
const resolves = (path: string, anchor: string | undefined): boolean =>
  existsSync(path) && (anchor === undefined || (anchors.get(path)?.includes(anchor) ?? false));

/** References to what a reader of the repository cannot open. */
const outside = /\b(?:decisions?|quality) \d|\bedge cases? \d|\bspec, [A-Z]/;

/** The broken references in a source. */
const faultsIn = (file: string, text: string): string[] => [
  ...[...text.matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)]
    .filter(([, path = '', anchor]) => !resolves(path, anchor))
    .map(([reference]) => `${file}: ${reference}`),
  ...text.split('\n').flatMap((line, at) => (outside.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
];

describe('references', () => {
  it('in the sources name a page and a heading that exist', () => {
    const own = 'test/house/references.test.ts';
    expect(sources.filter((file) => file !== own).flatMap((file) => faultsIn(file, readFileSync(file, 'utf8')))).to.deep.equal([]);
  });

  it('in the pages name files and headings that exist', () => {
    const broken = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)/g)].flatMap(([link, path = '', anchor]) =>
        resolves(path ? join(dirname(page), path) : page, anchor) ? [] : [`${page}: ${link}`],
      ),
    );
    expect(broken).to.deep.equal([]);
    const files = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/`((?:config|lib|workers|apps|test|deploy|\.ci)\/[\w./-]+?)`/g)].map(([, path = '']) => [
        page,
        path,
      ]),
    );
    expect(files.filter(([, path = '']) => !existsSync(path))).to.deep.equal([]);
    expect(files.map(([page]) => page)).to.include.members(['README.md', 'CONTRIBUTING.md', 'docs/delivery.md']);
  });

  it('name every page of docs/ in the README', () => {
    const readme = readFileSync('README.md', 'utf8');
    expect(pages.filter((page) => page.startsWith('docs/') && !readme.includes(`(${page})`))).to.deep.equal([]);
  });

  it('that are broken would be seen', () => {
    for (const text of [
      'docs/delivery.md#nowhere',
      'docs/nothing.md',
      '(decisions 3)',
      'edge case 12',
      '(spec, Messages)',
      'quality 1, P10',
    ])
      expect(faultsIn('file', text), text).to.have.length(1);
    for (const text of ['docs/delivery.md#relay', 'specify, Messages', 'decisions']) expect(faultsIn('file', text), text).to.deep.equal([]);
  });
});

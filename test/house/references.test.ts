import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { pages, sources } from './files.ts';

/** The anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const anchors = new Map(
  pages.map((page) => [page, [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))]),
);

/** Whether the path exists and, if an anchor is given, the page has its heading. */
const resolves = (path: string, anchor: string | undefined): boolean =>
  existsSync(path) && (anchor === undefined || (anchors.get(path)?.includes(anchor) ?? false));

/** References to documents outside of the repository. */
const externalReference = /\b(?:decisions?|quality) \d|\bedge cases? \d|\bspec, [A-Z]/;

/** The broken references in a source. */
const brokenIn = (file: string, text: string): string[] => [
  ...[...text.matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)]
    .filter(([, path = '', anchor]) => !resolves(path, anchor))
    .map(([reference]) => `${file}: ${reference}`),
  ...text.split('\n').flatMap((line, at) => (externalReference.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
];

describe('references', () => {
  it('in the sources name existing pages and headings', () => {
    const own = 'test/house/references.test.ts';
    expect(sources.filter((file) => file !== own).flatMap((file) => brokenIn(file, readFileSync(file, 'utf8')))).to.deep.equal([]);
  });

  it('in the pages name existing files and headings', () => {
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

  it('in the README include every page of docs/', () => {
    const readme = readFileSync('README.md', 'utf8');
    expect(pages.filter((page) => page.startsWith('docs/') && !readme.includes(`(${page})`))).to.deep.equal([]);
  });

  it('that are broken are detected', () => {
    for (const text of [
      'docs/delivery.md#nowhere',
      'docs/nothing.md',
      '(decisions 3)',
      'edge case 12',
      '(spec, Messages)',
      'quality 1, P10',
    ])
      expect(brokenIn('file', text), text).to.have.length(1);
    for (const text of ['docs/delivery.md#relay', 'specify, Messages', 'decisions']) expect(brokenIn('file', text), text).to.deep.equal([]);
  });
});

import { readdirSync } from 'node:fs';
import { join } from 'node:path/posix';

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file) && !file.includes('node_modules'))
    .map((file) => join(folder, file));

/** The paths of all source files and style sheets. */
export const sources = ['lib', 'apps', 'workers', 'config', 'sdk', 'local-database', 'test'].flatMap((folder) =>
  filesIn(folder, /\.(tsx?|mjs|css)$/),
);

/** The paths of all pages of documentation. */
export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...filesIn('docs', /\.md$/),
  'local-database/README.md',
  'sdk/javascript/README.md',
  'sdk/python/README.md',
];

/** The paths of the files of the contract with schemas of requests, responses and events. */
export const contractFiles = filesIn('lib/contract', /\.ts$/).filter((file) => !/\/(jobs|check)\.ts$/.test(file));

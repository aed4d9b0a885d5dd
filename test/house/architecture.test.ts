import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { expect } from 'chai';
import { findCycle, readSource, type SourceFacts } from './imports.ts';

/** Lowest first: a folder may import itself and the folders before it in this list (docs/architecture.md#layers). */
const layers = [
  'lib/base',
  'config',
  'lib/contract',
  'lib/outbound',
  'lib/store',
  'lib/domain',
  'workers',
  'local-database',
  'apps',
  'sdk/javascript',
  'sdk/generate',
];
/** Layers that may import only these layers, instead of all before them. */
const allowedLayers: Record<string, string[]> = {
  config: ['lib/base'],
  'lib/base': [],
  'sdk/javascript': [],
  'local-database': [],
  'sdk/generate': ['lib/base', 'lib/contract', 'apps'],
  'lib/contract': ['lib/base'],
  'lib/outbound': ['lib/base', 'lib/contract'],
  'lib/domain': ['lib/base', 'lib/contract', 'lib/outbound', 'lib/store'],
};
/** The folders of the domain, lowest first: a file may import those of its own folder and of the folders before it. `.`: the files beside the folders. */
const domainFolders = [
  ...'counts access events . views previews channels files messages members webhooks servers accounts'.split(' '),
  ...'community exports applications interactions backup relay jobs operators'.split(' '),
];

/** Folders of processes, which share lib and config but never import one another. apps/local starts the others as processes. */
const processFolders = ['workers', 'apps/api', 'apps/gateway', 'apps/ops', 'apps/operator', 'apps/web', 'apps/local'];

/** Packages that only these files may import. All other packages may be imported anywhere. */
const owners: Record<string, string[]> = {
  pino: ['lib/base/'],
  '@opentelemetry/api': ['lib/base/'],
  '@opentelemetry/exporter-trace-otlp-http': ['lib/base/'],
  '@opentelemetry/resources': ['lib/base/'],
  '@opentelemetry/sdk-trace': ['lib/base/'],
  mongoose: ['lib/store/mongo/'],
  mongodb: ['lib/store/mongo/'],
  ioredis: ['lib/store/redis/'],
  bullmq: ['lib/store/queue/'],
  ws: ['apps/gateway/', 'sdk/javascript/src/socket.ts'],
  koa: ['apps/api/', 'apps/ops/'],
  '@koa/router': ['apps/api/', 'apps/ops/'],
  '@koa/send': ['apps/api/'],
  'koa-body': ['apps/api/', 'apps/ops/'],
  '@fastify/busboy': ['apps/api/'],
  sharp: ['workers/'],
  undici: ['lib/outbound/'],
  'tough-cookie': ['lib/outbound/'],
  'openid-client': ['lib/outbound/'],
  '@aws-sdk/client-s3': ['lib/store/files/'],
  // The dashboard needs BullMQ queues. lib/store provides them, so apps/ops never imports bullmq.
  '@bull-board/api': ['apps/ops/'],
  '@bull-board/koa': ['apps/ops/'],
  commander: ['apps/operator/'],
  'tar-stream': ['lib/domain/backup/'],
  pg: ['local-database/'],
  bson: ['local-database/'],
  preact: ['apps/web/'],
  'preact-iso': ['apps/web/'],
  '@preact/signals': ['apps/web/'],
  lucide: ['apps/web/'],
  'emojibase-data': ['apps/web/'],
  vite: ['apps/web/vite.config.ts'],
  marked: ['apps/web/guides/markdown.ts'],
  'node:process': ['config/', 'apps/local/', 'local-database/'], // the linter finds `process.env`
};
/** Files shared with browsers, which import no packages and no Node modules. */
const sharedWithBrowsers = 'markup markup-scan markup-truncate permissions channel-kinds limits errors ids text emoji'
  .split(' ')
  .map((name) => `lib/base/${name}.ts`);
const maxLines = 400;

const isWithin = (file: string, places: readonly string[]): boolean => places.some((place) => file.startsWith(place));
const folderOf = (file: string, folders: readonly string[]): string | undefined => folders.findLast((one) => file.startsWith(`${one}/`));

function importErrors(file: string, target: string, isNeededAtRuntime: boolean): string[] {
  const errors: string[] = [];
  const [from, to] = [folderOf(file, layers), folderOf(target, layers)];
  if (!from || !to) return [`${file} or ${target} is in no layer`];
  const isOfKit = to === 'sdk/javascript' && file.startsWith('apps/local/'); // the demo bot and `npm run listen` are programs of users
  if (layers.indexOf(to) > layers.indexOf(from) && !isOfKit) errors.push(`${file} imports ${target}: ${from} may not import ${to}`);
  else if (from !== to && allowedLayers[from] && !allowedLayers[from].includes(to))
    errors.push(`${file} imports ${target}: not allowed in ${from}`);
  const [mine, theirs] = [folderOf(file, processFolders), folderOf(target, processFolders)];
  if (theirs && mine !== theirs && from !== 'sdk/generate') errors.push(`${file} imports ${target}: processes never import one another`);
  if (isNeededAtRuntime && file.startsWith('apps/web/') && !isWithin(target, ['apps/web/', ...sharedWithBrowsers]))
    errors.push(`${file} imports ${target}: pages may import only types and code shared with browsers`);
  const [fromFolder, toFolder] = [file, target].map((one) =>
    domainFolders.indexOf(/^lib\/domain\/(?:([^/]+)\/)?/.exec(one)?.[1] ?? '.'),
  ) as [number, number];
  if (from === 'lib/domain' && to === from && (fromFolder < 0 || toFolder < 0 || toFolder > fromFolder))
    errors.push(`${file} imports ${target}: its folder does not come after that one`);
  const renderer = 'lib/domain/webhooks/codehost/';
  if (file.startsWith(renderer) && !isWithin(target, [renderer, 'lib/base/', 'lib/contract/']))
    errors.push(`${file} imports ${target}: the code host renderer may import only lib/base and lib/contract`);
  return errors;
}

function fileErrors(file: string, { localImports, runtimeImports, packages, lines }: SourceFacts): string[] {
  const errors: string[] = [];
  if (lines > maxLines && !file.includes('/generated/')) errors.push(`${file}: ${lines} lines`);
  if (isWithin(file, ['test/', 'local-database/test/'])) return errors;
  for (const name of packages) {
    const places = owners[name];
    if (places && !isWithin(file, places)) errors.push(`${file}: imports ${name}`);
    if (sharedWithBrowsers.includes(file)) errors.push(`${file}: imports ${name}, but is shared with browsers`);
  }
  return [...errors, ...localImports.flatMap((target) => importErrors(file, target, runtimeImports.includes(target)))];
}

/** All violations of docs/architecture.md#layers in `sources` (path → text), one line each. */
function errorsOf(sources: ReadonlyMap<string, string>): string[] {
  const facts = new Map([...sources].map(([file, source]) => [file, readSource(file, source)]));
  const cycle = findCycle(new Map([...facts].map(([file, { localImports }]) => [file, localImports])));
  return [...[...facts].flatMap(([file, one]) => fileErrors(file, one)), ...(cycle ? [`import cycle: ${cycle.join(' → ')}`] : [])];
}

const sources = new Map(
  ['config', 'lib', 'workers', 'apps', 'sdk', 'local-database', 'test']
    .flatMap((top) => readdirSync(top, { recursive: true, encoding: 'utf8' }).map((file) => join(top, file.replaceAll('\\', '/'))))
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'))
    .map((file) => [file, readFileSync(file, 'utf8')]),
);

describe('architecture', () => {
  it('the sources keep the rules of layers and packages', () => expect(errorsOf(sources)).to.deep.equal([]));

  it('the check reads all sources', () => {
    expect(sources.size).to.be.greaterThan(20);
    const targets = [...sources].flatMap(([file, source]) => readSource(file, source).localImports);
    expect(targets.length).to.be.greaterThan(20);
    for (const target of targets) expect(sources.has(target) || /\.(mjs|json|css)$/.test(target), target).to.equal(true);
  });

  const cases: [what: string, files: Record<string, string>, error: RegExp | null][] = [
    ['an import of a higher layer', { 'lib/base/a.ts': `import { b } from '../domain/b.ts';` }, /lib\/base may not import lib\/domain/],
    ['an import of a lower layer', { 'lib/domain/a.ts': `import { b } from '../base/b.ts';` }, null],
    ['a type import of a higher layer', { 'lib/store/a.ts': `import type { B } from '../domain/b.ts';` }, /may not import lib\/domain/],
    ['an import() type', { 'lib/store/a.ts': `export type A = import('../domain/b.ts').B;` }, /may not import lib\/domain/],
    ['a dynamic import', { 'lib/store/a.ts': `export const a = () => import('../domain/b.ts');` }, /may not import lib\/domain/],
    ['a re-export of a higher layer', { 'lib/contract/a.ts': `export * from '../store/b.ts';` }, /may not import lib\/store/],
    ['config in lib/domain', { 'lib/domain/a.ts': `import { c } from '../../config/index.ts';` }, /not allowed in lib\/domain/],
    ['a feature in the ground of the domain', { 'lib/domain/access/a.ts': `import { b } from '../messages/b.ts';` }, /does not come after/],
    ['a file beside the folders in the ground', { 'lib/domain/events/a.ts': `import { b } from '../b.ts';` }, /does not come after/],
    ['an unknown folder of the domain', { 'lib/domain/new/a.ts': `import { b } from '../access/b.ts';` }, /does not come after/],
    ['the ground in a feature of the domain', { 'lib/domain/messages/a.ts': `import { b } from '../access/b.ts';` }, null],
    ['config in lib/store', { 'lib/store/a.ts': `import { c } from '../../config/index.ts';` }, null],
    ['an app in another app', { 'apps/api/a.ts': `import { b } from '../gateway/b.ts';` }, /never import one another/],
    ['a worker in an app', { 'apps/api/a.ts': `import { b } from '../../workers/b.ts';` }, /never import one another/],
    ['an app in apps/local', { 'apps/local/a.ts': `import '../api/main.ts';` }, /never import one another/],
    ['lib in the wire gateway', { 'local-database/a.ts': `import { b } from '../lib/base/b.ts';` }, /not allowed in local-database/],
    [
      'lib/store in the renderer',
      { 'lib/domain/webhooks/codehost/a.ts': `import { b } from '../../../store/b.ts';` },
      /renderer may import only/,
    ],
    ['a contract type in the renderer', { 'lib/domain/webhooks/codehost/a.ts': `import type { B } from '../../../contract/b.ts';` }, null],
    ['a schema in a page', { 'apps/web/a.tsx': `import { Message } from '../../lib/contract/message.ts';` }, /pages may import only types/],
    ['a type in a page', { 'apps/web/a.tsx': `import type { Message } from '../../lib/contract/message.ts';` }, null],
    ['limits in a page', { 'apps/web/a.ts': `import { limits } from '../../lib/base/limits.ts';` }, null],
    [
      'server code in a kit',
      { 'sdk/javascript/src/a.ts': `import type { M } from '../../../lib/contract/message.ts';` },
      /not allowed in sdk\/javascript/,
    ],
    [
      'a kit in the server',
      { 'apps/api/a.ts': `import { C } from '../../sdk/javascript/src/index.ts';` },
      /apps may not import sdk\/javascript/,
    ],
    ['routes in the kit generator', { 'sdk/generate/a.ts': `import { routes } from '../../apps/api/routes/index.ts';` }, null],
    ['a file in no layer', { 'lib/a.ts': `import { b } from './base/b.ts';` }, /is in no layer/],
    ['mongoose in lib/domain', { 'lib/domain/a.ts': `import mongoose from 'mongoose';` }, /imports mongoose/],
    ['bullmq in ops', { 'apps/ops/a.ts': `import type { Queue } from 'bullmq';` }, /imports bullmq/],
    ['the dashboard in ops', { 'apps/ops/a.ts': `import { x } from '@bull-board/api/bullMQAdapter';` }, null],
    ['a Node module in lib/base/markup.ts', { 'lib/base/markup.ts': `import { x } from 'node:url';` }, /is shared with browsers/],
    ['node:process in lib', { 'lib/base/a.ts': `import { env } from 'node:process'; export const a = env;` }, /imports node:process/],
    [`a file of ${maxLines + 1} lines`, { 'lib/base/a.ts': '\n'.repeat(maxLines + 1) }, new RegExp(`: ${maxLines + 1} lines`)],
    [`a file of ${maxLines} lines`, { 'lib/base/a.ts': '\n'.repeat(maxLines) }, null],
    [
      'an import cycle',
      {
        'lib/base/a.ts': `import { b } from './b.ts';`,
        'lib/base/b.ts': `import { c } from './c.ts';`,
        'lib/base/c.ts': `export { a } from './a.ts';`,
      },
      /import cycle: lib\/base\/a.ts → lib\/base\/b.ts → lib\/base\/c.ts → lib\/base\/a.ts/,
    ],
    [
      'a diamond of imports',
      { 'lib/base/a.ts': `import './b.ts'; import './c.ts';`, 'lib/base/b.ts': `import './c.ts';`, 'lib/base/c.ts': '' },
      null,
    ],
  ];
  for (const [what, files, error] of cases)
    it(`${error ? 'detects' : 'allows'} ${what}`, () => {
      const found = errorsOf(new Map(Object.entries(files))).join('\n');
      if (error) expect(found).to.match(error);
      else expect(found).to.equal('');
    });
});

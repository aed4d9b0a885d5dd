import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { expect } from 'chai';
import { circleOf, type Facts, factsOf } from './imports.ts';

/** Lowest first: a folder may import itself and the folders before it in this list (docs/architecture.md#layers). */
const layers = ['config', 'lib/base', 'lib/contract', 'lib/outbound', 'lib/store', 'lib/domain', 'workers', 'apps'];
/** Where the list is not the whole truth: these layers may import only the named ones. */
const narrow: Record<string, string[]> = {
  config: [],
  'lib/base': [],
  'lib/contract': ['lib/base'],
  'lib/outbound': ['lib/base', 'lib/contract'],
  'lib/domain': ['lib/base', 'lib/contract', 'lib/outbound', 'lib/store'],
};
/** Processes: they share lib and config, and never import one another. apps/local starts the others as processes. */
const islands = ['workers', 'apps/api', 'apps/gateway', 'apps/ops', 'apps/operator', 'apps/web', 'apps/local'];

/** Packages that only these files may name. Anything else may be named where it is needed. */
const owners: Record<string, string[]> = {
  pino: ['lib/base/'],
  mongoose: ['lib/store/mongo/'],
  mongodb: ['lib/store/mongo/'],
  ioredis: ['lib/store/redis/'],
  bullmq: ['lib/store/queue/'],
  ws: ['apps/gateway/', 'apps/local/gateway-client.ts'],
  koa: ['apps/api/', 'apps/ops/'],
  '@koa/router': ['apps/api/', 'apps/ops/'],
  '@koa/send': ['apps/api/'],
  'koa-body': ['apps/api/'],
  '@fastify/busboy': ['apps/api/'],
  sharp: ['workers/'],
  undici: ['lib/outbound/'],
  '@aws-sdk/client-s3': ['lib/store/files/'],
  // The dashboard wants BullMQ queues; lib/store hands them out, so apps/ops never names bullmq itself.
  '@bull-board/api': ['apps/ops/'],
  '@bull-board/koa': ['apps/ops/'],
  commander: ['apps/operator/'],
  pg: ['apps/local/documentdb/'],
  bson: ['apps/local/documentdb/'],
  preact: ['apps/web/'],
  'preact-iso': ['apps/web/'],
  '@preact/signals': ['apps/web/'],
  lucide: ['apps/web/'],
  'emojibase-data': ['apps/web/'],
  vite: ['apps/web/vite.config.ts'],
};
const envReaders = ['config/', 'apps/local/', 'test/'];
/** Shared with browsers: no packages and no Node modules. */
const forBrowsers = ['markup', 'markup-scan', 'permissions', 'limits', 'ids', 'text', 'emoji'].map((name) => `lib/base/${name}.ts`);
const maxLines = 250;

const within = (file: string, places: readonly string[]): boolean => places.some((place) => file.startsWith(place));
const folderOf = (file: string, folders: readonly string[]): string | undefined => folders.findLast((one) => file.startsWith(`${one}/`));

function importFaults(file: string, target: string, needed: boolean): string[] {
  const faults: string[] = [];
  const [from, to] = [folderOf(file, layers), folderOf(target, layers)];
  if (!from || !to) return [`${file} or ${target} stands in no layer`];
  if (layers.indexOf(to) > layers.indexOf(from)) faults.push(`${file} imports ${target}: ${from} may not know ${to}`);
  else if (from !== to && narrow[from] && !narrow[from].includes(to)) faults.push(`${file} imports ${target}: not open to ${from}`);
  const [mine, theirs] = [folderOf(file, islands), folderOf(target, islands)];
  if (theirs && mine !== theirs) faults.push(`${file} imports ${target}: processes never import one another`);
  if (needed && file.startsWith('apps/web/') && !within(target, ['apps/web/', ...forBrowsers]))
    faults.push(`${file} imports ${target}: browsers get types, and what is made for them`);
  const engine = 'apps/local/documentdb/';
  if (file.startsWith(engine) && folderOf(target, ['config', 'lib']))
    faults.push(`${file} imports ${target}: the wire gateway knows nothing of ours`);
  const renderer = 'lib/domain/webhooks/codehost/';
  if (file.startsWith(renderer) && !within(target, [renderer, 'lib/base/', 'lib/contract/']))
    faults.push(`${file} imports ${target}: what renders code hosts is words in, words out`);
  return faults;
}

function fileFaults(file: string, { ours, needed, packages, spots, lines }: Facts): string[] {
  const faults: string[] = [];
  if (lines > maxLines) faults.push(`${file}: ${lines} lines`);
  if (spots.has('any')) faults.push(`${file}: any`);
  if (spots.has('default export') && file !== 'apps/web/vite.config.ts') faults.push(`${file}: default export`);
  if (spots.has('process.env') && !within(file, envReaders)) faults.push(`${file}: process.env`);
  if (within(file, ['test/'])) return faults;
  for (const name of packages) {
    const places = owners[name];
    if (places && !within(file, places)) faults.push(`${file}: names ${name}`);
    if (forBrowsers.includes(file)) faults.push(`${file}: names ${name}, but browsers share it`);
  }
  return [...faults, ...ours.flatMap((target) => importFaults(file, target, needed.includes(target)))];
}

/** Every breach of the rules of docs/architecture.md#layers in `sources` (path → text), one line each. */
function faultsOf(sources: ReadonlyMap<string, string>): string[] {
  const facts = new Map([...sources].map(([file, source]) => [file, factsOf(file, source)]));
  const circle = circleOf(new Map([...facts].map(([file, { ours }]) => [file, ours])));
  return [...[...facts].flatMap(([file, one]) => fileFaults(file, one)), ...(circle ? [`circle: ${circle.join(' → ')}`] : [])];
}

const sources = new Map(
  ['config', 'lib', 'workers', 'apps', 'test']
    .flatMap((top) => readdirSync(top, { recursive: true, encoding: 'utf8' }).map((file) => join(top, file.replaceAll('\\', '/'))))
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'))
    .map((file) => [file, readFileSync(file, 'utf8')]),
);

describe('architecture', () => {
  it('the sources keep layers, owners and habits', () => expect(faultsOf(sources)).to.deep.equal([]));

  it('the check has seen the sources', () => {
    expect(sources.size).to.be.greaterThan(20);
    const known = [...sources].flatMap(([file, source]) => factsOf(file, source).ours);
    expect(known.length).to.be.greaterThan(20);
    for (const target of known) expect(sources.has(target) || /\.(mjs|json|css)$/.test(target), target).to.equal(true);
  });

  const breaches: [what: string, files: Record<string, string>, fault: RegExp | null][] = [
    ['an import down', { 'lib/base/a.ts': `import { b } from '../domain/b.ts';` }, /lib\/base may not know lib\/domain/],
    ['an import up', { 'lib/domain/a.ts': `import { b } from '../base/b.ts';` }, null],
    ['an import of a type down', { 'lib/store/a.ts': `import type { B } from '../domain/b.ts';` }, /may not know lib\/domain/],
    ['an import type down', { 'lib/store/a.ts': `export type A = import('../domain/b.ts').B;` }, /may not know lib\/domain/],
    ['a late import down', { 'lib/store/a.ts': `export const a = () => import('../domain/b.ts');` }, /may not know lib\/domain/],
    ['a re-export down', { 'lib/contract/a.ts': `export * from '../store/b.ts';` }, /may not know lib\/store/],
    ['config in domain', { 'lib/domain/a.ts': `import { c } from '../../config/index.ts';` }, /not open to lib\/domain/],
    ['config in store', { 'lib/store/a.ts': `import { c } from '../../config/index.ts';` }, null],
    ['one app in another', { 'apps/api/a.ts': `import { b } from '../gateway/b.ts';` }, /never import one another/],
    ['a worker in an app', { 'apps/api/a.ts': `import { b } from '../../workers/b.ts';` }, /never import one another/],
    ['an app in a worker', { 'workers/a.ts': `import { b } from '../apps/api/b.ts';` }, /never import one another/],
    ['an app in local', { 'apps/local/a.ts': `import '../api/main.ts';` }, /never import one another/],
    ['ours in the wire gateway', { 'apps/local/documentdb/a.ts': `import { b } from '../../../lib/base/b.ts';` }, /knows nothing of ours/],
    ['a store in the renderer', { 'lib/domain/webhooks/codehost/a.ts': `import { b } from '../../../store/b.ts';` }, /words in, words out/],
    ['a type in the renderer', { 'lib/domain/webhooks/codehost/a.ts': `import type { B } from '../../../contract/b.ts';` }, null],
    ['a schema in a page', { 'apps/web/a.tsx': `import { Message } from '../../lib/contract/message.ts';` }, /browsers get types/],
    ['the type of one', { 'apps/web/a.tsx': `import type { Message } from '../../lib/contract/message.ts';` }, null],
    ['limits in a page', { 'apps/web/a.ts': `import { limits } from '../../lib/base/limits.ts';` }, null],
    ['a page in the api', { 'apps/api/a.ts': `import { b } from '../web/b.ts';` }, /never import one another/],
    ['preact in the api', { 'apps/api/a.ts': `import { h } from 'preact';` }, /names preact/],
    ['a folder of no layer', { 'lib/a.ts': `import { b } from './base/b.ts';` }, /stands in no layer/],
    ['mongoose in domain', { 'lib/domain/a.ts': `import mongoose from 'mongoose';` }, /names mongoose/],
    ['ioredis in a worker', { 'workers/a.ts': `import { Redis } from 'ioredis';` }, /names ioredis/],
    ['bullmq in ops', { 'apps/ops/a.ts': `import type { Queue } from 'bullmq';` }, /names bullmq/],
    ['the dashboard in ops', { 'apps/ops/a.ts': `import { x } from '@bull-board/api/bullMQAdapter';` }, null],
    ['ws in the api', { 'apps/api/a.ts': `import { WebSocket } from 'ws';` }, /names ws/],
    ['koa in the gateway', { 'apps/gateway/a.ts': `import Koa from 'koa';` }, /names koa/],
    ['pg in store', { 'lib/store/a.ts': `import pg from 'pg';` }, /names pg/],
    ['bson in local', { 'apps/local/a.ts': `import { BSON } from 'bson';` }, /names bson/],
    ['the image encoder in domain', { 'lib/domain/a.ts': `import sharp from 'sharp';` }, /names sharp/],
    ['commander in local', { 'apps/local/a.ts': `import { Command } from 'commander';` }, /names commander/],
    ['a way out in a worker', { 'workers/a.ts': `import { request } from 'undici';` }, /names undici/],
    ['pino in an app', { 'apps/api/a.ts': `import { pino } from 'pino';` }, /names pino/],
    ['Node in the markup', { 'lib/base/markup.ts': `import { x } from 'node:url';` }, /browsers share it/],
    ['the environment in lib', { 'lib/base/a.ts': `export const a = process.env.HOME;` }, /process\.env/],
    ['the environment by name', { 'lib/base/a.ts': `export const a = process['env'];` }, /process\.env/],
    ['the environment by import', { 'lib/base/a.ts': `import { env } from 'node:process'; export const a = env;` }, /process\.env/],
    ['the environment in config', { 'config/index.ts': `export const a = process.env;` }, null],
    ['an any', { 'lib/base/a.ts': `export const a: Record<string, any> = {};` }, /: any/],
    ['an any in words', { 'lib/base/a.ts': `/** Any of any. */ export const a = 'any';` }, null],
    ['a default export', { 'lib/base/a.ts': `export default 1;` }, /default export/],
    ['a default function', { 'lib/base/a.ts': `export default function a() {}` }, /default export/],
    ['a renamed default', { 'lib/base/a.ts': `const a = 1; export { a as default };` }, /default export/],
    ['a long file', { 'lib/base/a.ts': '\n'.repeat(maxLines + 1) }, /251 lines/],
    [
      'a circle',
      {
        'lib/base/a.ts': `import { b } from './b.ts';`,
        'lib/base/b.ts': `import { c } from './c.ts';`,
        'lib/base/c.ts': `export { a } from './a.ts';`,
      },
      /circle: lib\/base\/a.ts → lib\/base\/b.ts → lib\/base\/c.ts → lib\/base\/a.ts/,
    ],
    ['a diamond', { 'lib/base/a.ts': `import './b.ts'; import './c.ts';`, 'lib/base/b.ts': `import './c.ts';`, 'lib/base/c.ts': '' }, null],
  ];
  for (const [what, files, fault] of breaches)
    it(`${fault ? 'would see' : 'allows'} ${what}`, () => {
      const found = faultsOf(new Map(Object.entries(files))).join('\n');
      if (fault) expect(found).to.match(fault);
      else expect(found).to.equal('');
    });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { groupBy } from '../../lib/base/group-by.ts';
import { schemas } from '../../lib/store/mongo/database.ts';
import type { CataloguedQuery } from './catalogue.ts';
import { caps, exceptions } from './notes.ts';
import { equalFields, indexesOf, shardKeyOf } from './rules.ts';
import { print, printFilter } from './shape.ts';

const page = new URL('../../docs/scaling.md', import.meta.url);

const markers = (name: string): [begin: string, end: string] => [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];

/** A part of docs/scaling.md that is generated. */
export function readPart(name: string): string {
  const [begin, end] = markers(name);
  const text = readFileSync(page, 'utf8');
  return text.slice(text.indexOf(begin) + begin.length, text.indexOf(end));
}

function writePart(name: string, part: string): void {
  const [begin, end] = markers(name);
  const text = readFileSync(page, 'utf8');
  writeFileSync(page, text.slice(0, text.indexOf(begin) + begin.length) + part + text.slice(text.indexOf(end)));
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(row).join('');

/** Where the documents of a query are, on a sharded database. */
function findShards(query: CataloguedQuery): string {
  const key = shardKeyOf(query.collection);
  if (key === undefined) return '';
  return equalFields(query).includes(key) ? 'one' : 'all';
}

/** What the index of a query serves of it: its conditions on the fields of the index, and its sort. */
function printServed({ collection, filter, sort, index }: CataloguedQuery): string {
  const fields = index.split(' + ').flatMap((name) => indexesOf(collection).find((one) => one.name === name)?.fields ?? []);
  const served = index ? Object.fromEntries(Object.entries(filter).filter(([field]) => fields.includes(field))) : filter;
  const order = sort && ` sort ${print(sort)}`;
  return `\`${printFilter(served)}${order ?? ''}\``;
}

/** The table of all queries: those that differ only in conditions which no index serves are one row. */
export function renderQueries(queries: readonly CataloguedQuery[]): string {
  const rows = [...groupBy(queries, (query) => [query.collection, printServed(query), query.index, findShards(query)].join(' | '))].map(
    ([cells, alike]) => {
      const hot = alike.filter(({ cold }) => cold === undefined).length;
      const reasons = [...new Set(alike.flatMap(({ cold }) => (cold ? [cold] : [])))].sort();
      return [...cells.split(' | '), [hot ? `hot ${hot}` : '', ...reasons].filter(Boolean).join(', ')];
    },
  );
  return table(['Collection', 'Query by', 'Index', 'Shards', 'Used by'], rows);
}

/** The table of the caps that bound queries without a limit. */
const renderCaps = (): string =>
  table(
    ['Collection', 'By', 'Bound'],
    caps.map(({ collection, by, within = [], cap }) => [
      `\`${collection}\``,
      [...by, ...within].map((field) => `\`${field}\``).join(', '),
      cap,
    ]),
  );

/** The list of the queries that may break a rule. */
const renderExceptions = (): string =>
  table(
    ['Rule', 'Queries', 'Why'],
    exceptions.map(({ rule, why, queries }) => [rule, queries.map((one) => `\`${one}\``).join('<br>'), why]),
  );

const sharded = (): [collection: string, key: string][] =>
  Object.values(schemas).flatMap((schema) => {
    const collection = schema.get('collection') as string;
    const key = shardKeyOf(collection);
    return key === undefined ? [] : [[collection, key] as [string, string]];
  });

/** The commands that shard the collections of a new installation. */
const renderShardCommands = (): string =>
  `\`\`\`js\nsh.enableSharding('parlance')\n${sharded()
    .map(([collection, key]) => `sh.shardCollection('parlance.${collection}', { ${key}: 'hashed' })\n`)
    .join('')}\`\`\`\n`;

/** The commands that an installation with data needs before these. */
const renderIndexCommands = (): string =>
  `\`\`\`js\n${sharded()
    .map(([collection, key]) => `db.${collection}.createIndex({ ${key}: 'hashed' })\n`)
    .join('')}\`\`\`\n`;

/** The generated parts of docs/scaling.md by their names. */
export const renderParts = (queries: readonly CataloguedQuery[]): Record<string, string> => ({
  queries: renderQueries(queries),
  'bounds of queries': renderCaps(),
  'exceptions of queries': renderExceptions(),
  'shard commands': renderShardCommands(),
  'shard indexes': renderIndexCommands(),
});

/** Writes the generated parts of docs/scaling.md. */
export function writeTables(queries: readonly CataloguedQuery[]): void {
  for (const [name, part] of Object.entries(renderParts(queries))) writePart(name, part);
}

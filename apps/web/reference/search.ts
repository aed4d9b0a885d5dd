import { guides } from '../guides/guides.ts';
import { allPermissionNames, permissionTexts } from '../ui/permission-texts.ts';
import { allErrors } from './error-list.ts';
import { listCloseCodes, listGatewayEvents, listOpcodeFrames } from './gateway-data.ts';
import { limitGroups } from './limit-texts.ts';
import type { Schema } from './openapi.ts';
import { eventHref, operationHref, type Reference, typeHref } from './reference-data.ts';
import { takesFiles } from './samples.ts';
import { toShape } from './shape.ts';

/** Something that can be found. */
export interface SearchEntry {
  kind: string;
  title: string;
  href: string;
  /** The line below the title. */
  hint: string;
  /** All words, in lower case, by which it is found besides its title. */
  text: string;
}

const entry = (kind: string, title: string, href: string, hint: string, ...more: readonly string[]): SearchEntry => ({
  kind,
  title,
  href,
  hint,
  text: [hint, ...more].join(' ').toLowerCase(),
});

const listFields = (schema: Schema): [name: string, description: string][] =>
  Object.entries(toShape(schema).schema.properties ?? {}).map(([name, field]) => [name, field.description ?? '']);

/** Everything of the documents that can be found: operations, events, types with their fields, error codes, permissions, limits, opcodes and close codes. */
export function listEntries({ groups, types }: Reference): SearchEntry[] {
  const page = (path: string): string => `/developers/reference/${path}`;
  return [
    entry(
      'Overview',
      'Pages',
      '/developers/reference#pages',
      'How a long list is read',
      'pagination paging limit before after x-has-more link',
    ),
    ...groups.flatMap(({ operations, title: group }) =>
      operations.map((one) => {
        const { id, title, method, path, parameters, object } = one;
        const names = parameters.map(({ name }) => name).join(' ');
        return entry(
          'Operation',
          title,
          operationHref(one),
          `${method} ${path}`,
          id,
          group,
          object.summary,
          object.description ?? '',
          names,
          takesFiles(one) ? 'upload file attachment' : '',
        );
      }),
    ),
    ...listGatewayEvents().map(({ name, summary = '', description = '' }) => entry('Event', name, eventHref(name), summary, description)),
    ...listOpcodeFrames().map((one) => entry('Opcode', `${one['x-op']} ${one.name}`, page(`gateway#op-${one.name}`), one.summary ?? '')),
    ...listCloseCodes().map(({ code, cause, advice }) => entry('Close code', String(code), page(`gateway#close-${code}`), cause, advice)),
    ...[...types].map(([name, schema]) => entry('Type', name, typeHref(name), schema.description ?? '')),
    ...[...types].flatMap(([type, schema]) =>
      listFields(schema).map(([name, description]) => entry('Field', `${type}.${name}`, typeHref(type), description)),
    ),
    ...allErrors.map(({ code, status, cause }) => entry('Error', code, page(`errors#${code}`), cause, String(status))),
    ...allPermissionNames.map((name) =>
      entry('Permission', name, page(`permissions#${name.toLowerCase().replaceAll(' ', '-')}`), permissionTexts[name]),
    ),
    ...limitGroups.flatMap(({ id, title, rows }) =>
      rows.map(([what, value]) => entry('Limit', what, page(`limits#${id}`), value, title, 'limit')),
    ),
  ];
}

/** The sections of all guides. Guides that cannot be loaded are left out. */
export async function listGuideEntries(): Promise<SearchEntry[]> {
  const loaded = await Promise.allSettled(guides.map(async (guide) => ({ guide, sections: await guide.load() })));
  return loaded.flatMap((result) => {
    if (result.status === 'rejected') return [];
    const { name, title, summary } = result.value.guide;
    const href = `/developers/guides/${name}`;
    return [
      entry('Guide', title, href, summary),
      ...result.value.sections.map((section) => entry('Guide', section.title, `${href}#${section.id}`, title, section.text)),
    ];
  });
}

/** Letters, digits and what joins them, so that `create message` finds `createMessage` and `missing_permission` finds itself. */
const toWords = (text: string): string[] =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** How well a word of the query fits an entry: best at the start of a word of the title; 0 if it is not found. */
function rankWord(word: string, titleWords: readonly string[], { title, text }: SearchEntry): number {
  if (titleWords.includes(word)) return 10;
  if (titleWords.some((one) => one.startsWith(word))) return 6;
  if (title.toLowerCase().includes(word)) return 4;
  return text.includes(word) ? 1 : 0;
}

const kindRanks: Readonly<Record<string, number>> = { Operation: 2, Guide: 1.5, Event: 1.5, Field: -2 };
const maxResults = 20;

/** Returns the entries that have every word of `query`, the best first. */
export function search(entries: readonly SearchEntry[], query: string): SearchEntry[] {
  const words = toWords(query);
  if (words.length === 0) return [];
  return entries
    .map((one) => {
      const titleWords = toWords(one.title);
      const ranks = words.map((word) => rankWord(word, titleWords, one));
      const found = ranks.includes(0) ? 0 : ranks.reduce((sum, rank) => sum + rank, 0) / (1 + titleWords.length * 0.05);
      return { one, rank: found === 0 ? 0 : Math.max(found + (kindRanks[one.kind] ?? 0), 0.1) };
    })
    .filter(({ rank }) => rank > 0)
    .sort((first, second) => second.rank - first.rank)
    .slice(0, maxResults)
    .map(({ one }) => one);
}

import type { mongo, Schema } from 'mongoose';
import { type Collections, schemas } from './database.ts';

/** The indexes that this version needs, by the collection's name in `Collections`. */
export const neededIndexes: ReadonlyMap<keyof Collections, readonly mongo.IndexDescription[]> = new Map(
  (Object.keys(schemas) as (keyof Collections)[]).map((name) => [
    name,
    (schemas[name] as Schema).indexes().map(([key, options]) => ({ ...options, key }) as mongo.IndexDescription),
  ]),
);

/** Every index of `neededIndexes` as text, with its collection, fields and options: `reads {"channelId":1} {}`. */
export const neededIndexTexts: readonly string[] = [...neededIndexes].flatMap(([name, indexes]) =>
  indexes.map(({ key, ...options }) => `${name} ${JSON.stringify(key)} ${JSON.stringify(options)}`),
);

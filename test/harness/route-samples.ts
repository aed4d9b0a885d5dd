import type { TSchema } from 'typebox';
import type { Route } from '../../apps/api/route.ts';
import type { SeededServer } from './seed.ts';

/** The part of a JSON schema that tests read. */
interface Shape {
  type?: string;
  enum?: unknown[];
  anyOf?: Shape[];
  properties?: Record<string, Shape>;
  required?: string[];
  minLength?: number;
  minimum?: number;
  pattern?: string;
}

/** A minimal value that fits `schema`: only required fields, or all fields with `full`. */
export function sampleOf(schema: TSchema, full = false): unknown {
  const shape = schema as Shape;
  if (shape.enum) return shape.enum[0];
  if (shape.anyOf) return sampleOf(shape.anyOf[0] as TSchema, full);
  switch (shape.type) {
    case 'object': {
      const names = full ? Object.keys(shape.properties ?? {}) : (shape.required ?? []);
      return Object.fromEntries(names.map((name) => [name, sampleOf(shape.properties?.[name] as TSchema, full)]));
    }
    case 'array':
      return [];
    case 'string':
      if (shape.pattern?.startsWith('^[0-9]{19}')) return '1000000000000000001';
      if (shape.pattern?.startsWith('^#')) return '#abcdef';
      if (shape.pattern?.includes('://')) return 'https://example.org/';
      return 'a'.repeat(Math.max(8, shape.minLength ?? 0)).slice(0, 8);
    case 'integer':
    case 'number':
      return shape.minimum ?? 0;
    case 'boolean':
      return false;
    default:
      return null;
  }
}

/** The names of the parameters in a route's path, in order. */
export const holesOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, hole]) => hole as string);

/** Replaces each parameter of `path` with the result of `fill`, which receives the parameter's name and the path segment before it. */
export const fillPath = (path: string, fill: (hole: string, before: string) => string): string =>
  path
    .split('/')
    .map((part, at, parts) => (/^\{\w+\}$/.test(part) ? fill(part.slice(1, -1), parts[at - 1] ?? '') : part))
    .join('/');

/** An id for a path parameter, from `seeded` or `more` (by the path segment before it); an unknown id if neither has one. */
export function realOf(seeded: SeededServer, hole: string, before: string, more: Record<string, string> = {}): string {
  const [bot] = seeded.bots;
  const byPlace: Record<string, string | undefined> = {
    channels: seeded.channelIds[0],
    servers: seeded.serverId,
    applications: bot?.applicationId,
    members: bot?.id,
    users: bot?.id,
    bans: bot?.id,
    roles: seeded.serverId,
    overwrites: seeded.serverId,
    ...more,
  };
  return byPlace[before] ?? (hole === 'emoji' ? '%F0%9F%91%8D' : '1000000000000000001');
}

/** The name of a route in test titles. */
export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

import { limits } from '../../../base/limits.ts';
import { toOneLine } from '../../../base/plain-text.ts';
import { truncate } from '../../../base/text.ts';

/** How much of a payload is kept and shown, in code points. With these bounds facts stay below 16 kB and an embed below 4,000 characters, whatever is sent. */
export const bounds = {
  action: 60,
  events: 20,
  repository: 100,
  branch: 80,
  name: 60,
  title: 200,
  commits: limits.pushCommitsShown,
  commitLine: 72,
  body: 400,
  bodyLines: 10,
  link: 400,
  icon: 1_000,
  /** Text after this is ignored. */
  read: 4_000,
} as const;

/** An object of a payload. Any field may be missing or have any type. */
export type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path such as `head.ref`; undefined if a step of the path is not an object. */
function valueAt(value: unknown, path: string): unknown {
  const dot = path.indexOf('.');
  if (dot < 0) return isObject(value) ? value[path] : undefined;
  return valueAt(valueAt(value, path.slice(0, dot)), path.slice(dot + 1));
}

/** The object at `path`, or null. The path `''` is the value itself. */
export function objectAt(value: unknown, path: string): Fields | null {
  const found = path === '' ? value : valueAt(value, path);
  return isObject(found) ? found : null;
}

/** The objects in the list at `path`; none if there is no list. */
export function objectsAt(value: unknown, path: string): Fields[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** The strings in the list at `path`, each cut to `bounds.read`; none if there is no list. */
export function stringsAt(value: unknown, path: string): string[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.filter((one) => typeof one === 'string').map((text) => truncate(text, bounds.read)) : [];
}

/** The first nonempty string at one of these paths, unchanged but cut to `bounds.read`; else empty. */
export function stringAt(value: unknown, ...paths: string[]): string {
  for (const path of paths) {
    const found = valueAt(value, path);
    if (typeof found === 'string' && found !== '') return truncate(found, bounds.read);
  }
  return '';
}

/** `text` on one line of at most `max` code points. Text that was cut ends in `…`. */
export function toLine(text: string, max: number): string {
  const words = toOneLine(text);
  const kept = truncate(words, max);
  return kept.length < words.length ? `${truncate(kept, max - 1).trimEnd()}…` : words;
}

/** The first visible text at one of these paths, as `toLine` makes it; else empty. */
export function lineAt(value: unknown, max: number, ...paths: string[]): string {
  for (const path of paths) {
    const line = toLine(stringAt(value, path), max);
    if (line !== '') return line;
  }
  return '';
}

/**
 * The whole number at `path`, 0 or above. Null for anything else, and for a number that is too large to be exact in JavaScript, because a wrong number is worse
 * than none.
 */
export function numberAt(value: unknown, path: string): number | null {
  const found = valueAt(value, path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : null;
}

/** Whether the value at `path` is `true`. */
export const flagAt = (value: unknown, path: string): boolean => valueAt(value, path) === true;

/** `address` as a link of at most `max` characters: absolute, http or https, without user info. Null for anything else. */
export function toLink(address: string, max: number = bounds.link): string | null {
  if (address.length > max || !URL.canParse(address)) return null;
  const { protocol, username, password, href } = new URL(address);
  return /^https?:$/.test(protocol) && username === '' && password === '' && href.length <= max ? href : null;
}

/** The first link at one of these paths, as `toLink` accepts it; else null. */
export function linkAt(value: unknown, ...paths: string[]): string | null {
  for (const path of paths) {
    const link = toLink(stringAt(value, path));
    if (link !== null) return link;
  }
  return null;
}

/** The reason why a delivery is not posted: the object that it is about is missing. */
export const explainMissing = (field: string): string => `the payload has no \`${field}\``;

/** The reason why a delivery is not posted: its event is posted, but not with this action. */
export const explainIgnoredAction = (event: string, payload: unknown): string => {
  const action = lineAt(payload, bounds.action, 'action');
  return action === '' ? `\`${event}\` without an action is not posted` : `action \`${action}\` of \`${event}\` is not posted`;
};

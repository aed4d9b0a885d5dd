import { oneLine } from '../../base/plain-text.ts';
import { cut } from '../../base/text.ts';

/** How much of a payload is kept and shown, in code points: facts stay below 16 kB and an embed below 4,000 characters, whatever came. */
export const bounds = {
  action: 60,
  events: 20,
  repository: 100,
  branch: 80,
  name: 60,
  title: 200,
  commits: 5,
  commitLine: 72,
  body: 400,
  bodyLines: 10,
  link: 400,
  icon: 1_000,
  /** No text is looked at further than this. */
  read: 4_000,
} as const;

/** An object of a payload. Any field may be missing, or be of any type. */
export type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What stands at a path such as `head.ref`; undefined where a step of it is no object. */
function valueAt(value: unknown, path: string): unknown {
  const dot = path.indexOf('.');
  if (dot < 0) return isObject(value) ? value[path] : undefined;
  return valueAt(valueAt(value, path.slice(0, dot)), path.slice(dot + 1));
}

/** The object at `path`, or null. `''` is the value itself. */
export function objectAt(value: unknown, path: string): Fields | null {
  const found = path === '' ? value : valueAt(value, path);
  return isObject(found) ? found : null;
}

/** The objects in the list at `path`; none when there is no list. */
export function objectsAt(value: unknown, path: string): Fields[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** The texts in the list at `path`, up to `bounds.read` of each; none when there is no list. */
export function textsAt(value: unknown, path: string): string[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.filter((one) => typeof one === 'string').map((text) => cut(text, bounds.read)) : [];
}

/** The text at the first of these paths that has one, as it came, up to `bounds.read`; else empty. */
export function rawAt(value: unknown, ...paths: string[]): string {
  for (const path of paths) {
    const found = valueAt(value, path);
    if (typeof found === 'string' && found !== '') return cut(found, bounds.read);
  }
  return '';
}

/** `text` on one line and of at most `max` code points; what was cut ends in `…`. */
export function lineOf(text: string, max: number): string {
  const words = oneLine(text);
  const kept = cut(words, max);
  return kept.length < words.length ? `${cut(kept, max - 1).trimEnd()}…` : words;
}

/** The text at the first of these paths where something can be seen, as `lineOf` has it; else empty. */
export function lineAt(value: unknown, max: number, ...paths: string[]): string {
  for (const path of paths) {
    const line = lineOf(rawAt(value, path), max);
    if (line !== '') return line;
  }
  return '';
}

/**
 * The whole number at `path`, 0 or above. null for anything else, also for one that JSON numbers do not hold exactly: a wrong number is
 * worse than none.
 */
export function numberAt(value: unknown, path: string): number | null {
  const found = valueAt(value, path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : null;
}

/** Whether `true` stands at `path`. */
export const flagAt = (value: unknown, path: string): boolean => valueAt(value, path) === true;

/** `address` as a link of at most `max` characters: absolute, http or https, without user info. null for anything else. */
export function linkOf(address: string, max: number = bounds.link): string | null {
  if (address.length > max || !URL.canParse(address)) return null;
  const { protocol, username, password, href } = new URL(address);
  return /^https?:$/.test(protocol) && username === '' && password === '' && href.length <= max ? href : null;
}

/** The first of these paths that holds a link, as `linkOf` takes it; else null. */
export function linkAt(value: unknown, ...paths: string[]): string | null {
  for (const path of paths) {
    const link = linkOf(rawAt(value, path));
    if (link !== null) return link;
  }
  return null;
}

/** Why a delivery posts nothing when the object that it is about is not there. */
export const without = (field: string): string => `the payload has no \`${field}\``;

/** Why a delivery posts nothing: its event does, its action does not. */
export const wrongAction = (event: string, payload: unknown): string => {
  const action = lineAt(payload, bounds.action, 'action');
  return action === '' ? `\`${event}\` without an action posts nothing` : `action \`${action}\` of \`${event}\` posts nothing`;
};

/**
 * The part of the loaded messages that is on the page, by id, both ends included. `last` null: up to the newest, also those still to come.
 */
export interface Slice {
  readonly first: string;
  readonly last: string | null;
}

/** What a list of messages needs here: ids that sort as strings, the oldest first. */
type Listed = readonly { readonly id: string }[];

/** The index of the first message whose id is `id` or above; the length when there is none. */
export function indexFrom(messages: Listed, id: string): number {
  let [low, high] = [0, messages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((messages[middle]?.id ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the first message above `id`. */
export function indexAfter(messages: Listed, id: string): number {
  const at = indexFrom(messages, id);
  return messages[at]?.id === id ? at + 1 : at;
}

/** Where a slice lies in the list as it stands now: `to` exclusive. A message that is gone leaves its neighbours. */
export const rangeOf = (messages: Listed, { first, last }: Slice): { from: number; to: number } => ({
  from: indexFrom(messages, first),
  to: last === null ? messages.length : indexAfter(messages, last),
});

/** The slice of an index range; `follow` lets it run on to the newest. */
export const sliceOf = (messages: Listed, from: number, to: number, follow = false): Slice => ({
  first: messages[Math.max(from, 0)]?.id ?? '',
  last: follow ? null : (messages[Math.min(to, messages.length) - 1]?.id ?? ''),
});

/** The newest messages, `count` of them, and those to come. */
export const newestSlice = (messages: Listed, count: number): Slice => sliceOf(messages, messages.length - count, messages.length, true);

/** A message with its surroundings, `count` in all. */
export function sliceAround(messages: Listed, id: string, count: number): Slice {
  const at = indexFrom(messages, id);
  return sliceOf(messages, at - (count >> 1), at + (count >> 1));
}

/** The slice with `by` more older messages; beyond `most` it lets go of its newest. A slice that follows the newest keeps them. */
export function grownUp(messages: Listed, slice: Slice, by: number, most: number): Slice {
  const { from, to } = rangeOf(messages, slice);
  const next = Math.max(from - by, 0);
  return sliceOf(messages, next, Math.min(to, next + most), slice.last === null);
}

/** The slice with `by` more newer messages; beyond `most` it lets go of its oldest. */
export function grownDown(messages: Listed, slice: Slice, by: number, most: number): Slice {
  const { from, to } = rangeOf(messages, slice);
  const next = Math.min(to + by, messages.length);
  return sliceOf(messages, Math.max(from, next - most), next);
}

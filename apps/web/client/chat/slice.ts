/** The range of loaded messages that is on the page, by id, both ends included. When `last` is null, it extends to the newest message and follows new ones. */
export interface Slice {
  readonly first: string;
  readonly last: string | null;
}

/** The messages as this module needs them: ids that sort as strings, oldest first. */
type Listed = readonly { readonly id: string }[];

/** Returns the index of the first message whose id is `id` or greater; the length when there is none. */
export function indexFrom(messages: Listed, id: string): number {
  let [low, high] = [0, messages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((messages[middle]?.id ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the first message whose id is greater than `id`. */
export function indexAfter(messages: Listed, id: string): number {
  const at = indexFrom(messages, id);
  return messages[at]?.id === id ? at + 1 : at;
}

/** Returns the index range of a slice in the current list; `to` is exclusive. A deleted message does not affect its neighbors. */
export const rangeOf = (messages: Listed, { first, last }: Slice): { from: number; to: number } => ({
  from: indexFrom(messages, first),
  to: last === null ? messages.length : indexAfter(messages, last),
});

/** Returns the slice of an index range; with `follow` it extends to the newest message and follows new ones. */
export const sliceOf = (messages: Listed, from: number, to: number, follow = false): Slice => ({
  first: messages[Math.max(from, 0)]?.id ?? '',
  last: follow ? null : (messages[Math.min(to, messages.length) - 1]?.id ?? ''),
});

/** Returns the slice of the newest `count` messages, which follows new ones. */
export const newestSlice = (messages: Listed, count: number): Slice => sliceOf(messages, messages.length - count, messages.length, true);

/** Returns the slice of a message and its neighbors, `count` in all. */
export function sliceAround(messages: Listed, id: string, count: number): Slice {
  const at = indexFrom(messages, id);
  return sliceOf(messages, at - (count >> 1), at + (count >> 1));
}

/** Extends the slice by `by` older messages. Beyond `most` it drops its newest ones, but a slice that follows the newest keeps them. */
export function extendUp(messages: Listed, slice: Slice, by: number, most: number): Slice {
  const { from, to } = rangeOf(messages, slice);
  const next = Math.max(from - by, 0);
  return sliceOf(messages, next, Math.min(to, next + most), slice.last === null);
}

/** Extends the slice by `by` newer messages. Beyond `most` it drops its oldest ones. */
export function extendDown(messages: Listed, slice: Slice, by: number, most: number): Slice {
  const { from, to } = rangeOf(messages, slice);
  const next = Math.min(to + by, messages.length);
  return sliceOf(messages, Math.max(from, next - most), next);
}

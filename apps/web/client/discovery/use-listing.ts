import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import { type ApiError, asApiError } from '../../api/call.ts';

/** One page of a public list. */
export interface ListPage<T> {
  items: T[];
  hasMore: boolean;
}

/** A list that is searched and read page by page. */
export interface Listing<T> {
  /** undefined until the first page came. */
  readonly items: readonly T[] | undefined;
  readonly busy: boolean;
  readonly error: ApiError | null;
  readonly hasMore: boolean;
  /** The list goes on, but no further page is served. */
  readonly capped: boolean;
  more: () => void;
  again: () => void;
  /** Changes one item that an own action changed. */
  change: (id: string, part: Partial<T>) => void;
}

/** How long after the last key a search begins, in milliseconds. */
const restMs = 250;

/**
 * Reads a list as the search (`what`) stands: a moment after it last changed, dropping what an older search answers. `offset` counts what was read, so an item
 * that moved between two pages is shown once.
 */
export function useListing<T extends { id: string }>(
  read: (offset: number, signal: AbortSignal) => Promise<ListPage<T>>,
  what: readonly unknown[],
): Listing<T> {
  const items = useSignal<readonly T[] | undefined>(undefined);
  const offset = useSignal(0);
  const hasMore = useSignal(false);
  const capped = useSignal(false);
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const stop = useSignal<AbortController | null>(null);

  const readAt = async (from: number): Promise<void> => {
    stop.value?.abort();
    const mine = new AbortController();
    stop.value = mine;
    busy.value = true;
    error.value = null;
    try {
      const page = await read(from, mine.signal);
      if (mine.signal.aborted) return;
      const before = from === 0 ? [] : (items.value ?? []);
      const known = new Set(before.map(({ id }) => id));
      items.value = [...before, ...page.items.filter(({ id }) => !known.has(id))];
      offset.value = from + page.items.length;
      hasMore.value = page.hasMore;
      capped.value = !page.hasMore && from >= limits.discoveryOffsetMax;
    } catch (fault) {
      if (!mine.signal.aborted) error.value = asApiError(fault);
    } finally {
      if (stop.value === mine) busy.value = false;
    }
  };

  useEffect(() => {
    const timer = setTimeout(() => void readAt(0), items.value === undefined ? 0 : restMs);
    return () => {
      clearTimeout(timer);
      stop.value?.abort();
    };
  }, what);

  return {
    items: items.value,
    busy: busy.value,
    error: error.value,
    hasMore: hasMore.value,
    capped: capped.value,
    more: () => void readAt(Math.min(offset.value, limits.discoveryOffsetMax)),
    again: () => void readAt(0),
    change: (id, part) => {
      items.value = items.value?.map((one) => (one.id === id ? { ...one, ...part } : one));
    },
  };
}

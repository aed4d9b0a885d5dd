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
  /** undefined until the first page is loaded. */
  readonly items: readonly T[] | undefined;
  readonly busy: boolean;
  readonly error: ApiError | null;
  readonly hasMore: boolean;
  /** Whether there are more items, but the API does not serve further pages. */
  readonly capped: boolean;
  more: () => void;
  again: () => void;
  /** Updates one item after an action of the user. */
  change: (id: string, part: Partial<T>) => void;
}

/** How long after the last key press a search begins, in milliseconds. */
const restMs = 250;

/**
 * Loads a list for the search parameters `what`, shortly after they last changed; responses to an older search are ignored. `offset` counts all items of the
 * loaded pages. An item that moved to a later page in between is shown once.
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

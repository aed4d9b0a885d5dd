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
  readonly isCapped: boolean;
  more: () => void;
  /** Loads the page again that failed. */
  retry: () => void;
  /** Updates one item after an action of the user. */
  change: (id: string, part: Partial<T>) => void;
}

/** How long after the last key press a search begins, in milliseconds. */
const debounceMs = 250;

/**
 * Loads a list for the search parameters `deps`, shortly after they last changed; responses to an older search are ignored. `offset` counts all items of the
 * loaded pages. An item that moved to a later page in between is shown once.
 */
export function useListing<T extends { id: string }>(
  load: (offset: number, signal: AbortSignal) => Promise<ListPage<T>>,
  deps: readonly unknown[],
): Listing<T> {
  const items = useSignal<readonly T[] | undefined>(undefined);
  const offset = useSignal(0);
  const lastFrom = useSignal(0);
  const hasMore = useSignal(false);
  const isCapped = useSignal(false);
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const stop = useSignal<AbortController | null>(null);

  const loadFrom = async (from: number): Promise<void> => {
    stop.value?.abort();
    const controller = new AbortController();
    stop.value = controller;
    lastFrom.value = from;
    busy.value = true;
    error.value = null;
    try {
      const page = await load(from, controller.signal);
      if (controller.signal.aborted) return;
      const before = from === 0 ? [] : (items.value ?? []);
      const known = new Set(before.map(({ id }) => id));
      items.value = [...before, ...page.items.filter(({ id }) => !known.has(id))];
      offset.value = from + page.items.length;
      hasMore.value = page.hasMore;
      isCapped.value = !page.hasMore && from >= limits.discoveryOffsetMax;
    } catch (fault) {
      if (!controller.signal.aborted) error.value = asApiError(fault);
    } finally {
      if (stop.value === controller) busy.value = false;
    }
  };

  useEffect(() => {
    const timer = setTimeout(() => void loadFrom(0), items.value === undefined ? 0 : debounceMs);
    return () => {
      clearTimeout(timer);
      stop.value?.abort();
    };
  }, deps);

  return {
    items: items.value,
    busy: busy.value,
    error: error.value,
    hasMore: hasMore.value,
    isCapped: isCapped.value,
    more: () => void loadFrom(Math.min(offset.value, limits.discoveryOffsetMax)),
    retry: () => void loadFrom(lastFrom.value),
    change: (id, part) => {
      items.value = items.value?.map((one) => (one.id === id ? { ...one, ...part } : one));
    },
  };
}

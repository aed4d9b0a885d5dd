import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { Loading } from '../../ui/loading.tsx';
import type { Listing } from './use-listing.ts';
import './discovery.css';

/** The result of a search: cards, their number, and a button to load more. */
export function ListingView<T extends { id: string }>({
  listing,
  noun,
  searching,
  empty,
  card,
}: {
  listing: Listing<T>;
  /** The noun for one item of the list. */
  noun: string;
  /** Whether the list is narrowed by a search. */
  searching: boolean;
  /** The text to show when the list has no items at all. */
  empty: string;
  card: (item: T) => ComponentChildren;
}): JSX.Element {
  const { items, busy, hasMore, isCapped } = listing;
  const summary = (count: number): string => {
    if (count === 0) return searching ? `No ${noun}s found.` : empty;
    return hasMore ? `Showing the first ${count} ${noun}s` : countOf(count, noun);
  };
  return (
    <div aria-busy={busy}>
      <Loading of={{ value: items, error: listing.error, reload: listing.retry }} />
      {items && (
        <p class="soft" role="status">
          {summary(items.length)}
        </p>
      )}
      <ul class="discovery-cards">
        {items?.map((item) => (
          <li key={item.id}>{card(item)}</li>
        ))}
      </ul>
      {hasMore && (
        <p class="discovery-more">
          <Button busy={busy} onClick={listing.more}>
            Show more
          </Button>
        </p>
      )}
      {isCapped && <p class="soft discovery-more">The list ends here. Search to find more {noun}s.</p>}
    </div>
  );
}

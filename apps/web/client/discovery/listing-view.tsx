import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { Problem } from '../../ui/problem.tsx';
import type { Listing } from './use-listing.ts';
import './discovery.css';

/** The result of a search: cards, their number, and a button to load more. */
export function ListingView<T extends { id: string }>({
  listing,
  thing,
  searching,
  empty,
  card,
}: {
  listing: Listing<T>;
  /** The noun for one item of the list. */
  thing: string;
  /** Whether the list is narrowed by a search. */
  searching: boolean;
  /** The text to show when the list has no items at all. */
  empty: string;
  card: (item: T) => ComponentChildren;
}): JSX.Element {
  const { items, error, busy, hasMore, capped } = listing;
  const said = (count: number): string => {
    if (count === 0) return searching ? `No ${thing} matches.` : empty;
    return hasMore ? `The first ${count} ${thing}s` : countOf(count, thing);
  };
  return (
    <div aria-busy={busy}>
      <Problem error={error} again={listing.again} />
      {!items && !error && <p class="spinner">Loading …</p>}
      {items && (
        <p class="soft" role="status">
          {said(items.length)}
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
      {capped && <p class="soft discovery-more">The list ends here. Search to find {thing}s further down.</p>}
    </div>
  );
}

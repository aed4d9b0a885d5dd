import type { PageQuery } from '../../../lib/domain/operators/lists.ts';
import type { OpsPlatform } from '../../../lib/store/platform.ts';
import type { Html } from '../html.ts';
import type { Action } from './actions.ts';

/** One page of a list. `next` continues it; null on the last page. */
export interface ListPage {
  table: Html;
  next: string | null;
}

/** What operators manage below `path`: a list, a page for each of its entries `T`, and the actions on it. */
export interface Managed<T extends { id: string }> {
  path: '/people' | '/servers';
  title: string;
  /** What an entry is. */
  noun: string;
  searchLabel: string;
  /** By the last part of their address. */
  actions: Readonly<Record<string, Action<T>>>;
  list: (platform: OpsPlatform, page: PageQuery) => Promise<ListPage>;
  /** Rejects with a `Refusal` if there is no such entry. */
  load: (platform: OpsPlatform, id: string) => Promise<T>;
  nameOf: (entry: T) => string;
  renderDetails: (entry: T) => Html;
}

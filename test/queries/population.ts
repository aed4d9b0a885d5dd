import { accountsPopulation } from './population-accounts.ts';
import { messagesPopulation } from './population-messages.ts';
import { serversPopulation } from './population-servers.ts';
import type { Document } from './shape.ts';

/*
 * The documents of an installation in which the queries are explained: large enough that a query without its index reads hundreds of documents more than it
 * returns. Only the fields by which the product searches or sorts are filled.
 */
const populations = { ...accountsPopulation, ...serversPopulation, ...messagesPopulation };

/** All documents of a collection; none if nothing is known about it. */
export const populationOf = (collection: string): Document[] => {
  const [count, build] = populations[collection] ?? [0, () => ({})];
  return Array.from({ length: count }, (_, n) => build(n));
};

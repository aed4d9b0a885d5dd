import type { Route } from '../route.ts';

/** Spec, Interactions. */
export const interactionsRoutes: readonly Route[] = [];

import type { Route } from '../route.ts';

/** Spec, Servers. */
export const serversRoutes: readonly Route[] = [];

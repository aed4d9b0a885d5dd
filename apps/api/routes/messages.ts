import type { Route } from '../route.ts';

/** Spec, Messages. */
export const messageRoutes: readonly Route[] = [];

import type { Route } from '../route.ts';

/** Spec, Authentication. */
export const authRoutes: readonly Route[] = [];

import type { Route } from '../route.ts';

/** Spec, Applications. */
export const applicationsRoutes: readonly Route[] = [];

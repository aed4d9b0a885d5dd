import type { Route } from '../route.ts';

/** Spec, Commands. */
export const commandsRoutes: readonly Route[] = [];

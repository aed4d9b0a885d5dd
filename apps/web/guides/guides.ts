import type { Guide } from '../reference/guide.ts';

/** Every guide, in the order of the navigation. */
export const guides: readonly Guide[] = [];

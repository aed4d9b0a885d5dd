/** What the API found wrong, by JSON pointer into the list. */
export type Faults = readonly { path: string; message: string }[];

/** What is wrong with one field, in the API's words; undefined when nothing is. */
export const faultAt = (faults: Faults, path: string): string | undefined => faults.find((one) => one.path === path)?.message;

/** How much is wrong at a pointer and below it. */
export const faultsUnder = (faults: Faults, path: string): number =>
  faults.filter((one) => one.path === path || one.path.startsWith(`${path}/`)).length;

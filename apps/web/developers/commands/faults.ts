/** The errors of the API, by JSON pointer into the list. */
export type Faults = readonly { path: string; message: string }[];

/** Returns the API's error for one field; undefined when there is none. */
export const faultAt = (faults: Faults, path: string): string | undefined => faults.find((one) => one.path === path)?.message;

/** Returns the number of errors at a pointer and below it. */
export const faultsUnder = (faults: Faults, path: string): number =>
  faults.filter((one) => one.path === path || one.path.startsWith(`${path}/`)).length;

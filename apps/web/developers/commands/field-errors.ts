/** The errors of the API, by JSON pointer into the list. */
export type FieldErrors = readonly { path: string; message: string }[];

/** Returns the API's error for one field; undefined when there is none. */
export const errorAt = (errors: FieldErrors, path: string): string | undefined => errors.find((one) => one.path === path)?.message;

/** Returns the number of errors at a pointer and below it. */
export const countErrorsUnder = (errors: FieldErrors, path: string): number =>
  errors.filter((one) => one.path === path || one.path.startsWith(`${path}/`)).length;

const spare: string[] = [];
const spent = new Set<string>();

/** Addresses of databases whose collections and indexes stand and that nobody uses any more: making them anew is what a short test would mostly wait for. */
export const spareDatabases = {
  take: (): string | undefined => spare.pop(),
  give: (url: string): void => void (spent.has(url) || spare.push(url)),
  /** Of a database that other processes were started on: one that outlives its test shall not be met by another. */
  spend: (url: string | undefined): void => void (url && spent.add(url)),
};

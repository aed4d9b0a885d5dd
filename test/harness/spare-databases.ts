const spare: string[] = [];
const spent = new Set<string>();

/**
 * Addresses of unused databases that have their collections and indexes. They are reused because creating them would take most of the time of a short test.
 */
export const spareDatabases = {
  take: (): string | undefined => spare.pop(),
  give: (url: string): void => void (spent.has(url) || spare.push(url)),
  /** Excludes a database that other processes were started on, because such a process may outlive its test and disturb another one. */
  spend: (url: string | undefined): void => void (url && spent.add(url)),
};

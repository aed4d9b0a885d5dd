import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty folder for a test, which `close` deletes with its contents. */
export interface TestFolder {
  path: string;
  close(): Promise<void>;
}

/** Makes an empty folder for a test. */
export async function makeFolder(): Promise<TestFolder> {
  const path = await mkdtemp(join(tmpdir(), 'parlance-test-'));
  return { path, close: () => rm(path, { recursive: true, force: true }) };
}

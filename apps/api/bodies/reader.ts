import { rm } from 'node:fs/promises';
import type { Context } from 'koa';
import type { TSchema } from 'typebox';
import { limits } from '../../../lib/base/limits.ts';
import type { Actor } from '../../../lib/domain/access/checks.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { createSlotPool, type SlotLimit, type SlotPool } from './slot-pool.ts';

/** The slots of one process: how many large bodies it reads at once. */
export interface BodySlots {
  uploads: SlotPool;
  deliveries: SlotPool;
}

/** Creates the slots of one process. */
export const createBodySlots = (): BodySlots => ({
  uploads: createSlotPool({ waitMs: limits.uploadWaitMs }),
  deliveries: createSlotPool({ waitMs: limits.deliveryWaitMs }),
});

/** A request whose body is read: the caller is known, and the credential in its path is right. `pathServerId`: the server that the route's `checkPath` returned. */
export interface BodyRequest<P = Record<string, string>> {
  ctx: Context;
  platform: ApiPlatform;
  slots: BodySlots;
  actor: Actor | null;
  params: P;
  address: string;
  pathServerId: string | null;
}

/** A body that was read and checked. */
export interface ReadBody<V = unknown> {
  value: V;
  /** Two bodies with equal `fingerprint` count as the same: the fields, and the hash, name and type of each file. The encoding of the body has no effect. */
  fingerprint: unknown;
  /** The local files of the body. */
  paths: readonly string[];
}

/**
 * How a route reads its body: `json`, `upload`, `picture` or `delivery`. `V` is what the route's `run` receives, `P` the parameters of the path that are needed.
 * When the request has ended, the local files of what was read are deleted.
 */
export interface BodyReader<V = unknown, P = Record<string, string>> {
  kind: 'json' | 'upload' | 'picture' | 'delivery';
  /** The schema of the JSON in the body; null for an image. */
  schema: TSchema | null;
  isOptional: boolean;
  /** Whether a request counts as more requests if its body is large. Bodies that wait for slots of their own do not. */
  isCountedBySize: (ctx: Context) => boolean;
  read(request: BodyRequest<P>): Promise<ReadBody<V>>;
}

/** Deletes local files. Files that do not exist are ignored. */
export async function removeLocalFiles(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map((path) => rm(path, { force: true })));
}

/** Reads a body by `read`, which receives a function that returns a path for a new local file. If the body is refused, its local files are deleted. */
export async function withLocalFiles<V>(
  { blobs }: ApiPlatform,
  read: (newPath: () => Promise<string>) => Promise<Omit<ReadBody<V>, 'paths'>>,
): Promise<ReadBody<V>> {
  const paths: string[] = [];
  const newPath = async (): Promise<string> => {
    const path = await blobs.newTempPath();
    paths.push(path);
    return path;
  };
  try {
    return { ...(await read(newPath)), paths };
  } catch (error) {
    await removeLocalFiles(paths);
    throw error;
  }
}

/** The limits that a body with files counts against while it is read. Each may take 100 MiB of the local disk. */
export const toUploadLimits = (accountId: string, address: string): SlotLimit[] => [
  { key: `account:${accountId}`, max: limits.uploadsPerCaller, reserved: 0 },
  { key: `address:${address}`, max: limits.uploadsPerAddress, reserved: 6 },
  { key: 'all', max: limits.uploadsAtOnce, reserved: 8 },
];

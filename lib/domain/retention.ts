import { composeId } from '../base/ids.ts';
import type { ServerDoc } from '../store/mongo/models/server.ts';
import type { Platform } from '../store/platform.ts';

const dayMs = 24 * 60 * 60_000;

/** A number of days in milliseconds. */
export const toDurationMs = (days: number): number => days * dayMs;

/** The id below which everything is older than `days` at the time `now`, in Unix milliseconds. */
export const toExpiredBound = (days: number, now: number): string => composeId(now - toDurationMs(days), 0, 0);

/** After how many days the messages of a server are deleted: its own retention, or that of the installation; null if never. */
export const getMessageRetention = (
  { MESSAGE_RETENTION_DAYS }: Pick<Platform['config'], 'MESSAGE_RETENTION_DAYS'>,
  { messageRetentionDays }: Pick<ServerDoc, 'messageRetentionDays'>,
): number | null => (messageRetentionDays === undefined ? MESSAGE_RETENTION_DAYS : messageRetentionDays || null);

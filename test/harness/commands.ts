import type { mongo } from 'mongoose';
import type { Platform } from '../../lib/store/platform.ts';

/** A command that the database driver sends. */
type DatabaseCommand = mongo.CommandStartedEvent;

/** A database URL with which the driver reports its commands, as `onDatabaseCommand` needs it. */
export function monitoredUrl(url: string): string {
  const monitored = new URL(url);
  monitored.searchParams.set('monitorCommands', 'true');
  return monitored.href;
}

/** Calls `onCommand` for each command that the platform sends to the database from now on. The platform was opened with a `monitoredUrl`. */
export function onDatabaseCommand({ db }: Pick<Platform, 'db'>, onCommand: (command: DatabaseCommand) => void): void {
  db.servers.db.client.on('commandStarted', onCommand);
}

import type { Logger } from './log.ts';
import { startWatchdog } from './watchdog.ts';

/** A running role. `close` stops taking work, finishes or hands back the current work, and closes resources in reverse order of opening. */
export interface Running {
  close(): Promise<void>;
}

/** A role of an installation. A role that serves long connections hands them over to other processes in `drain`, without hurry, before it is closed. */
export interface Role extends Running {
  drain?(): Promise<void>;
}

/** The settings do not match the stores. A process that starts with such settings prints one line and exits with code 78. */
export class ConfigurationError extends Error {}

/** How long a role may take to shut down before its process exits, in milliseconds (docs/guarantees.md#shutdown). */
export const shutdownMs = 25_000;

/** How long a starting process waits for each of its stores, in milliseconds. The stores may be starting too. */
export const firstConnectMs = 5_000;

/**
 * Runs one role for the life of the process. Starts it and sends `ready` to a parent process. Drains and closes it on SIGTERM, closes it at once on SIGINT or
 * when the parent process disconnects, and exits after 25 s at the latest. After an uncaught error it logs the error, closes the role and exits with code 1.
 * If its event loop is blocked for 30 s, it logs that and is killed.
 */
export async function runRole(log: Logger, start: () => Promise<Role>): Promise<void> {
  await startWatchdog(log);
  let running: Role | null = null;
  let stopping = false;
  const end = async (isDrained: boolean): Promise<void> => {
    if (isDrained) await running?.drain?.();
    await running?.close();
  };
  const stop = (reason: string, code: number, isDrained = false): void => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping');
    setTimeout(() => {
      log.error('shutdown took too long; exiting now');
      process.exit(1);
    }, shutdownMs).unref();
    end(isDrained).then(
      () => process.exit(code),
      (error: unknown) => {
        log.error({ err: error }, 'could not close all resources');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM', 0, true));
  process.on('SIGINT', () => stop('SIGINT', 0));
  process.on('disconnect', () => stop('the parent process disconnected', 0));
  const fatal = (error: unknown): void => {
    log.fatal({ err: error }, 'uncaught error');
    stop('uncaught error', 1);
  };
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);
  try {
    running = await start();
  } catch (error) {
    if (error instanceof ConfigurationError) {
      process.stderr.write(`${error.message}\n`);
      process.exit(78);
    }
    log.fatal({ err: error }, 'could not start');
    process.exit(1);
  }
  log.info('ready');
  process.send?.('ready');
}

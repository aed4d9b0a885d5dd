import type { Logger } from './log.ts';

/** A running role. `close` stops taking work, finishes or hands back the current work, and closes resources in reverse order of opening. */
export interface Running {
  close(): Promise<void>;
}

/** The settings do not match the stores. A process that starts with such settings prints one line and exits with code 78. */
export class ConfigurationError extends Error {}

/** How long a role may take to drain before its process ends, in milliseconds (docs/guarantees.md#shutdown). */
const drainMs = 25_000;

/** How long a starting process waits for each of its stores, in milliseconds. The stores may be starting too. */
export const firstConnectMs = 5_000;

/**
 * Runs one role for the life of the process. Starts it and sends `ready` to a parent process. Closes it on SIGTERM, on SIGINT or when the parent process is
 * gone, and exits after 25 s at the latest. After an uncaught error it logs the error, closes the role and exits with code 1.
 */
export async function runRole(log: Logger, start: () => Promise<Running>): Promise<void> {
  let running: Running | null = null;
  let stopping = false;
  const stop = (why: string, code: number): void => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'stopping');
    setTimeout(() => {
      log.error('draining took too long');
      process.exit(1);
    }, drainMs).unref();
    Promise.resolve(running?.close()).then(
      () => process.exit(code),
      (error: unknown) => {
        log.error({ err: error }, 'closing failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM', 0));
  process.on('SIGINT', () => stop('SIGINT', 0));
  process.on('disconnect', () => stop('the parent process is gone', 0));
  const fatal = (error: unknown): void => {
    log.fatal({ err: error }, 'uncaught');
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

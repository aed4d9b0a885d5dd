import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Names of fields whose values are redacted in log lines, at each depth where the code logs them (docs/security.md#logging). */
const secretFields = ['token', 'password', 'signingSecret', 'secret', 'authorization', 'cookie', 'content', 'url'];

/** The structured log of one process: JSON lines with `role` and `pid`; secrets and message content are cut out wherever they stand. `level` is pino's. */
export function createLog(role: string, level: string): Logger {
  return pino({
    level,
    base: { role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[redacted]' },
  });
}

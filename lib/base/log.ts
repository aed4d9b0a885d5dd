import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Names of fields whose values are redacted in log lines, at the top level and up to two levels below it (docs/security.md#logging). */
const secretFields = ['token', 'password', 'signingSecret', 'secret', 'authorization', 'cookie', 'content', 'url'];

/** Creates the structured log of one process: JSON lines with `role` and `pid`. The values of `secretFields` are redacted. `level` is a level of pino. */
export function createLog(role: string, level: string): Logger {
  return pino({
    level,
    base: { role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[redacted]' },
  });
}

import { createWriteStream, existsSync, mkdirSync, renameSync, statSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';

const keptBytes = 10 * 1024 * 1024;
const warnLevel = 40;
const levelNames: Record<number, string> = { 40: 'warning', 50: 'error', 60: 'fatal' };

/** Opens `<folder>/logs/<role>.log` for appending; a log larger than 10 MB is first renamed to `<role>.old.log`. */
export function openRoleLog(folder: string, role: string): WriteStream {
  mkdirSync(join(folder, 'logs'), { recursive: true, mode: 0o700 });
  const path = join(folder, 'logs', `${role}.log`);
  if (existsSync(path) && statSync(path).size > keptBytes) renameSync(path, join(folder, 'logs', `${role}.old.log`));
  return createWriteStream(path, { flags: 'a', mode: 0o600 });
}

/** What the terminal shows of a log line: warnings and worse in short form, and lines that are not JSON unchanged; undefined for all others. */
export function briefLine(role: string, line: string): string | undefined {
  if (!line.startsWith('{')) return line.trim() === '' ? undefined : `[${role}] ${line}`;
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== 'object' || entry === null) return `[${role}] ${line}`;
    const { level, msg, err } = entry as { level?: unknown; msg?: unknown; err?: { message?: unknown } };
    if (typeof level !== 'number' || level < warnLevel) return undefined;
    const reason = typeof err?.message === 'string' && err.message !== msg ? `: ${err.message}` : '';
    return `[${role}] ${levelNames[level] ?? level}: ${typeof msg === 'string' ? msg : ''}${reason}`;
  } catch {
    return `[${role}] ${line}`;
  }
}

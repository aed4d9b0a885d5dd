import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Prints `usage` and ends the process if the arguments ask for help. */
export function showHelp(usage: string): void {
  if (!process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) return;
  process.stdout.write(usage);
  process.exit(0);
}

/**
 * Reads the arguments of a command. Prints `usage` and ends the process if they ask for help; with exit code 64, and after the reason, if there is one that
 * `config` does not have.
 */
export function readArguments<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  showHelp(usage);
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split('. To specify')[0]}\n${usage}`);
    return process.exit(64);
  }
}

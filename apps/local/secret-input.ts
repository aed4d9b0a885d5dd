import { UserFacingError } from './terminal.ts';

/** Reads one line from the terminal without showing what is typed. */
async function readHidden(question: string): Promise<string> {
  process.stderr.write(question);
  process.stdin.setRawMode(true);
  let typed = '';
  try {
    for await (const piece of process.stdin.iterator({ destroyOnReturn: false }))
      for (const character of String(piece)) {
        if (character === '\u0003') throw new UserFacingError('Stopped.'); // Ctrl-C, which raw mode does not turn into a signal
        if (character === '\r' || character === '\n') return typed;
        typed = character === '\u007f' ? typed.slice(0, -1) : typed + character;
      }
    return typed;
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}

/**
 * Returns a secret: the environment variable `name`, else what the user types at a prompt. It is never an argument, because other users of the machine can read
 * arguments. Without a terminal a missing secret is an error that contains `where`, which says where to find it.
 */
export async function readSecret(name: string, where: string): Promise<string> {
  const fromEnvironment = process.env[name]?.trim();
  if (fromEnvironment) return fromEnvironment;
  const typed = process.stdin.isTTY ? (await readHidden(`${name} (${where}): `)).trim() : '';
  if (typed) return typed;
  throw new UserFacingError(`Set ${name} in the environment: ${where}.`);
}

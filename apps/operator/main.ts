import { configOrExit } from '../../config/index.ts';
import { readCommand } from './commands.ts';
import { type Ending, exits, failed } from './ending.ts';

/*
 * `npm run operator -- <command>`: the operators' command line. It runs one command and exits with the exit code of its result
 * (docs/operations.md#operator-commands).
 */
const args = process.argv.slice(2);
const isJson = args.includes('--json');

/** Prints the result and then exits, even if connections are still open. */
function end({ exit, json, text }: Ending): void {
  const stream = isJson || json.ok ? process.stdout : process.stderr;
  stream.write(`${isJson ? JSON.stringify(json) : text}\n`, () => process.exit(exit));
}

const asked = readCommand(args);
switch (asked.kind) {
  case 'help':
    end({ exit: exits.done, json: { ok: true, help: asked.text }, text: asked.text });
    break;
  case 'usage':
    end(failed(exits.usage, 'usage', asked.text));
    break;
  case 'order': {
    const { order } = asked;
    const config = configOrExit((fault) => end(failed(exits.configuration, 'configuration', fault)));
    // Loaded only here, because these modules take a second to load, and help and usage errors do not need the stores.
    const [{ obey }, { carryOut }] = await Promise.all([import('./obey.ts'), import('./carry-out.ts')]);
    const report = (line: string): void => void (isJson || process.stderr.write(`${line}\n`));
    end(await obey(config, (platform) => carryOut(platform, order, report), { isLong: order.command === 'rotate-key' }));
  }
}

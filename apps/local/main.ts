import { bringUp } from './bring-up.ts';
import { readArguments } from './command-line.ts';
import { runUntilStopped } from './lifecycle.ts';

/*
 * `npm start`: runs the whole product on this machine until Ctrl-C.
 */
readArguments(
  `Usage: npm start

Runs the whole product on this machine until Ctrl-C, with its stores. Settings are environment variables (docs/operations.md#settings), such as:
  PORT      the port of the pages and the API; default: 8080, or the next free one
  HOST      the address to listen on; default: this machine only
  DATA_DIR  the folder of the data; default: .data
  BASE_URL  the address that users open
`,
  { options: {} },
);
await runUntilStopped(async (onStarted) => {
  await bringUp(onStarted);
});

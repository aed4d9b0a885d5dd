import { bringUp } from './bring-up.ts';
import { runUntilStopped } from './lifecycle.ts';

/*
 * `npm start`: runs the whole product on this machine until Ctrl-C.
 */
await runUntilStopped(async (onStarted) => {
  await bringUp(onStarted);
});

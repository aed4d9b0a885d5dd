import { bringUp } from './bring-up.ts';
import { runUntilStopped } from './lifecycle.ts';

/*
 * `npm start`: runs the whole product on this machine until Ctrl-C.
 */
await runUntilStopped(async (note) => {
  await bringUp(note);
});

import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { usePrograms, usePythonKit } from './python-fixture.ts';

/** How many messages are posted. `OVERLOAD_MESSAGES=3500` is the full run. */
const messages = Number(process.env.OVERLOAD_MESSAGES ?? 300);
const uses = 8;

describe('sdk/python: a bot that is too slow for what is posted', () => {
  const kit = usePythonKit(async () => ({ RATE_LIMIT: '5000/5000' }));
  const run = usePrograms();

  it('still answers each command', async () => {
    const program = run('overload', { ...kit.env(), LISTENER_SECS: '0.5', STOP_TIMEOUT: '0.1' });
    await program.waitFor(({ ready }) => ready === true);
    const began = Date.now();
    let posted = 0;
    const post = async (): Promise<void> => {
      while (posted < messages) await kit.post(`message ${posted++}`);
    };
    const posting = Promise.all([post(), post(), post(), post()]);
    for (let use = 1; use <= uses; use++) {
      await waitUntil(async () => posted >= (messages * use) / uses, 'the next messages');
      await kit.reach('ping', 'answered'); // a bot that reads nothing misses all
    }
    await posting;
    if (process.env.OVERLOAD_MESSAGES) console.log(`${posted} messages, ${Math.round((posted * 1000) / (Date.now() - began))} a second`);
    expect(program.log()).to.not.include('ended');
  });
});

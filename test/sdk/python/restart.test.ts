import { join } from 'node:path';
import { expect } from 'chai';
import { makeFolder } from '../../harness/folder.ts';
import { use } from '../../harness/use.ts';
import { contentsOf, type Program, usePrograms, usePythonKit } from './python-fixture.ts';

const rounds = 3;
const perRound = 16;

describe('sdk/python: restarts of a bot that saves its session', () => {
  const kit = usePythonKit();
  const run = usePrograms();
  const folder = use(makeFolder, { each: true });
  const start = (): Program => run('record', { ...kit.env(), SESSION_FILE: join(folder.path, 'session.json'), KEEP_SESSION: '1' });

  /**
   * Posts messages, also while no program runs, and ends the program by `signal` in the middle of its work, `rounds` times. Returns what was posted, and the
   * programs.
   */
  async function restart(signal: NodeJS.Signals): Promise<{ posted: string[]; programs: Program[] }> {
    const posted: string[] = [];
    const post = async (): Promise<void> => {
      // Each fourth one takes its time.
      posted.push(`${posted.length % 4 === 0 ? 'slow' : 'quick'} ${posted.length}`);
      await kit.post(posted.at(-1) ?? '');
    };
    const programs = [start()];
    await programs[0]?.waitFor(({ ready }) => ready !== undefined);
    for (let round = 0; round < rounds; round++) {
      const first = posted.length;
      for (let left = perRound; left > 0; left--) await post();
      const program = programs.at(-1);
      await program?.waitFor(({ content }) => content === posted[first + perRound / 2]);
      await Promise.all([program?.stop(signal), post(), post()]);
      await post();
      programs.push(start());
    }
    await programs.at(-1)?.waitFor(({ content }) => content === posted.at(-1));
    return { posted, programs };
  }

  const expectOneSession = ([, ...restarted]: Program[]): void => {
    for (const { lines } of restarted) {
      expect(lines.filter(({ ready, missed }) => ready ?? missed)).to.have.length(0);
      expect(lines.filter(({ resumed }) => resumed !== undefined)).to.have.length(1);
    }
  };

  it('lose no message when the process is killed, and repeat only those that it had not finished or saved', async () => {
    const { posted, programs } = await restart('SIGKILL');
    const received = programs.flatMap(contentsOf);
    expect([...new Set(received)]).to.deep.equal(posted);
    expect(received.length - posted.length, 'repeated').to.be.below(rounds * perRound);
    expectOneSession(programs);
  });

  it('lose no message when the session is kept, and bring none twice or out of order', async () => {
    const { posted, programs } = await restart('SIGTERM');
    expect(programs.flatMap(contentsOf)).to.deep.equal(posted);
    expectOneSession(programs);
  });
});

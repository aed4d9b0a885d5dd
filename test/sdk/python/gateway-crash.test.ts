import { expect } from 'chai';
import type { TestApi } from '../../harness/api.ts';
import { makeBot, makePerson, makeServer, postMessage } from '../../harness/factories.ts';
import { make, use } from '../../harness/use.ts';
import { startProcesses } from '../../web/processes.ts';
import { usePrograms } from './python-fixture.ts';

describe('sdk/python: gateway nodes that are killed', () => {
  const run = usePrograms();
  const processes = use(() => startProcesses(2));
  const api = make(
    async (): Promise<TestApi> => ({
      ...processes,
      call: processes.call,
      platform: processes.platform,
      url: processes.origin,
      close: async () => undefined,
    }),
  );

  it('loses no message, and brings none twice or out of order', async () => {
    const owner = await makePerson(api);
    const server = await makeServer(api, owner);
    const bot = await makeBot(api, owner, server.id, 0b1111);
    const program = run('record', { PARLANCE_URL: processes.origin, PARLANCE_TOKEN: bot.token });
    await program.waitFor(({ ready }) => ready !== undefined);
    const posted: string[] = [];
    const post = async (many: number): Promise<void> => {
      for (let left = many; left > 0; left--) {
        posted.push(`message ${posted.length}`);
        await postMessage(api, owner, server.general, posted.at(-1));
      }
    };
    for (let round = 0; round < 4; round++) {
      await post(10);
      const node = processes.gateways[round % 2];
      await Promise.all([node?.stop(round < 3 ? 'SIGKILL' : 'SIGINT'), post(20)]);
      await Promise.all([node?.start(), post(10)]);
    }
    await program.waitFor(({ content }) => content === posted.at(-1));
    await program.waitFor(({ resumed }) => resumed !== undefined); // after what it missed
    expect(program.lines.flatMap(({ content }) => content ?? [])).to.deep.equal(posted);
    expect(
      program.lines.filter(({ ready }) => ready !== undefined),
      'sessions',
    ).to.have.length(1);
    expect(await program.stop('SIGTERM')).to.equal(0);
  });
});

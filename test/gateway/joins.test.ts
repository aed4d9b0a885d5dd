import { expect } from 'chai';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { readPosition, writeNumbers } from '../../lib/store/redis/log/position.ts';
import { makeBot, makeMember, makeServer, postMessage } from '../harness/factories.ts';
import { startParlance } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { useServer } from '../harness/use.ts';
import { Client } from './client.ts';

const partitions = 2;

/** A position that a client makes up: from the numbers at its join, and those of an earlier moment. */
type MakeUp = (known: { own: number; joined: number[]; earlier: number[]; serverId: string; inServer: number }) => string;

const rows: readonly [what: string, makeUp: MakeUp][] = [
  [
    'an earlier number of the server',
    ({ joined, earlier, serverId, inServer }) => `${writeNumbers(joined)}~server:${serverId}=${earlier[inServer]}`,
  ],
  [
    'an earlier number of another partition',
    ({ own, joined, earlier }) => writeNumbers(earlier.map((number, at) => (at === own ? (joined[at] as number) : number))),
  ],
  ['earlier numbers of all partitions', ({ earlier }) => writeNumbers(earlier)],
];

describe('gateway: what was sent in a server before the account joined', () => {
  const { api, owner } = useServer({}, { start: () => startParlance({ LOG_PARTITIONS: String(partitions) }) });
  const port = (): number => Number(new URL(api.gatewayUrl).port);

  /** The last number of each partition. */
  const readNumbers = async (): Promise<number[]> => {
    const numbers: number[] = [];
    for (let id = 1; Object.keys(numbers).length < partitions; id++) {
      const partition = api.node.eventLog.partitionOf(serverPlace(String(id)));
      numbers[partition] ??= (await api.worker.readLastNumber(serverPlace(String(id)))) ?? 0;
    }
    return numbers;
  };

  const kinds: readonly [string, (serverId: string) => Promise<Caller>][] = [
    ['a person', (serverId) => makeMember(api, owner, serverId)],
    ['a bot', (serverId) => makeBot(api, owner, serverId)],
  ];
  for (const [kind, addTo] of kinds)
    for (const [what, makeUp] of rows)
      it(`is not sent to ${kind} that resumes from ${what}`, async () => {
        for (const isSamePartition of [true, false]) {
          const server = await makeServer(api, owner);
          const watcher = new Client(port());
          await watcher.identify(owner.token);
          const earlier = await readNumbers();
          const edited = await postMessage(api, owner, server.general, 'text before an edit');
          const deleted = await postMessage(api, owner, server.general, 'deleted');
          await send(api, 200, owner, 'PATCH', `/api/channels/${server.general}/messages/${edited.id}`, { content: 'text after it' });
          await send(api, 204, owner, 'DELETE', `/api/channels/${server.general}/messages/${deleted.id}`);
          await watcher.until(0, 'MESSAGE_DELETE');
          await watcher.close(1000);
          let account = await addTo(server.id);
          const ownOf = (): number => api.node.eventLog.partitionOf(accountPlace(account.id));
          const inServer = api.node.eventLog.partitionOf(serverPlace(server.id));
          while ((ownOf() === inServer) !== isSamePartition) account = await addTo(server.id);
          const client = new Client(port());
          const { d, s } = await client.identify(account.token, kind === 'a bot' ? ['MESSAGE_UPDATE', 'MESSAGE_DELETE'] : undefined);
          await client.cut();
          const { numbers } = readPosition(s, partitions) ?? expect.fail();
          const joined = await readNumbers();
          expect(numbers.length).to.equal(joined.length);
          await postMessage(api, owner, server.general, 'after the join');
          const again = new Client(port());
          const known = { own: ownOf(), joined: numbers as number[], earlier, serverId: server.id, inServer };
          await again.resume(account.token, d.sessionId, makeUp(known));
          await again.until(0, 'MESSAGE_CREATE');
          const messages = again.frames.filter(({ t }) => t?.startsWith('MESSAGE_'));
          expect(messages.map((frame) => [frame.t, frame.d.content])).to.deep.equal([['MESSAGE_CREATE', 'after the join']]);
          await again.cut();
        }
      });
});

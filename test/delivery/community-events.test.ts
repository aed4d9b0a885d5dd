import { expect } from 'chai';
import type { CommunitySettings } from '../../lib/contract/community.ts';
import { makeChannel } from '../harness/factories.ts';
import { startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';

const names = ['SERVER_UPDATE', 'CHANNEL_CREATE'];

describe('Events: Community and Discovery', () => {
  const {
    api: parlance,
    owner,
    server,
    ...others
  } = useServer({ moderator: newMember(1 << 10), member: newMember(), bot: newBot() }, { start: startParlance });
  /** The owner and a moderator, who see the updates channel, then a member and a bot, who do not. */
  const recorders = [
    ...[owner, others.moderator, others.member].map((one) => useRecorder(parlance, one)),
    useRecorder(parlance, others.bot, names),
  ];

  const at = (path: string): string => `/api/servers/${server.id}/${path}`;
  /** Runs `act` and waits until everyone has received a later summary with the fields of `then`. */
  const waitForSummary = async <T>(act: () => Promise<T>, then: object): Promise<T> => {
    const from = recorders.map((recorder) => recorder.received.length);
    const matches = (d: Record<string, unknown>): boolean => Object.entries(then).every(([field, value]) => d[field] === value);
    const result = await act();
    await Promise.all(
      recorders.map((recorder, n) =>
        recorder.waitFor((event) => event.t === 'SERVER_UPDATE' && matches(event.d) && recorder.received.indexOf(event) >= (from[n] ?? 0)),
      ),
    );
    return result;
  };
  /** Creates a channel, changes the server's name and changes it back, and waits for these events. Events that were pending before have arrived then. */
  const waitForPending = async (): Promise<void> => {
    const { id } = await makeChannel(parlance, owner, server.id, { name: 'mark' });
    for (const name of [`mark ${id}`, server.name])
      await waitForSummary(() => send(parlance, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name }), { name });
    await waitForAll(recorders, ({ d }) => d.id === id);
  };
  /** Runs `act` and returns what each subscriber received: summaries as their flags, channels as their ids. */
  const eventsDuring = async (act: () => Promise<unknown>): Promise<unknown[][]> => {
    await waitForPending();
    const from = recorders.map((recorder) => recorder.received.length);
    await act();
    await waitForPending();
    return recorders.map(({ received }, n) =>
      received.slice(from[n]).flatMap(({ t, d }) => {
        if (!names.includes(t) || d.name === 'mark' || (t === 'SERVER_UPDATE' && d.name !== server.name)) return [];
        return [t === 'SERVER_UPDATE' ? { community: d.community, listed: d.listed } : d.id];
      }),
    );
  };
  /** Changes the settings. With `then`, waits until everyone has received the summary. */
  const put = (what: 'community' | 'discovery', body: object, then?: object): Promise<CommunitySettings> => {
    const act = () => send<CommunitySettings>(parlance, 200, owner, 'PUT', at(what), body);
    return then ? waitForSummary(act, then) : act();
  };
  const distinct = (received: unknown[]): unknown[] =>
    received.filter((one, n) => n === 0 || JSON.stringify(one) !== JSON.stringify(received[n - 1]));

  it('turning Community on with new channels sends the summary to all and each channel once to those who can view it', async () => {
    let set: CommunitySettings | undefined;
    const received = await eventsDuring(async () => {
      set = await put('community', { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' }, { community: true });
    });
    const on = { community: true, listed: false };
    const { rulesChannelId: rules, updatesChannelId: updates } = set ?? expect.fail();
    const channelsOf = (one: unknown[]): unknown[] => one.filter((what) => typeof what === 'string');
    expect(received.map(channelsOf)).to.deep.equal([[rules, updates], [rules, updates], [rules], [rules]]);
    for (const one of received) expect(one).to.deep.include(on);
  });

  it('listing, unlisting and turning off send the summary; fields that are not in it send nothing', async () => {
    const received = await eventsDuring(async () => {
      await put('discovery', { description: 'x', tags: ['a'], category: 'music' });
      await put('discovery', { listed: true }, { listed: true });
      await put('discovery', { listed: true });
      await put('discovery', { listed: false }, { listed: false });
      await put('community', { enabled: false }, { community: false });
      await put('community', { enabled: false });
    });
    const summaries = [
      { community: true, listed: true },
      { community: true, listed: false },
      { community: false, listed: false },
    ];
    for (const one of received) expect(distinct(one)).to.deep.equal(summaries);
  });
});

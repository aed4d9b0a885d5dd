import { expect } from 'chai';
import type { CommunitySettings } from '../../lib/contract/community.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import { makeChannel } from '../harness/factories.ts';
import { startParlance, useRecorder, waitForAll } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { newBot, newMember, useServer } from '../harness/use.ts';

describe('Events: Community and Discovery', () => {
  const fixture = useServer({ moderator: newMember(1 << 10), member: newMember(), bot: newBot() }, { start: startParlance });
  const { api: parlance, owner, server, ...others } = fixture;
  /** The owner and a moderator, who see the updates channel, then a member and a bot, who do not. */
  const recorders = [
    ...[owner, others.moderator, others.member].map((one) => useRecorder(parlance, one)),
    useRecorder(parlance, others.bot, ['SERVER_UPDATE', 'CHANNEL_CREATE']),
  ];

  const put = (what: 'community' | 'discovery', body: object): Promise<CommunitySettings> =>
    send(parlance, 200, owner, 'PUT', `/api/servers/${server.id}/${what}`, body);
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

  it('turning Community on with new channels sends the summary to all and each channel once to those who can view it', async () => {
    const on = { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' };
    const settings = await waitForSummary(() => put('community', on), { community: true, listed: false });
    const { rulesChannelId: rules, updatesChannelId: updates } = settings;
    const { id: last } = await makeChannel(parlance, owner, server.id);
    await waitForAll(recorders, ({ d }) => d.id === last);
    const isNew = ({ t, d }: Dispatch): boolean => t === 'CHANNEL_CREATE' && d.id !== server.general;
    const created = recorders.map(({ received }) => received.filter(isNew).map(({ d }) => d.id));
    const all = [rules, updates, last];
    const forMembers = [rules, last];
    expect(created).to.deep.equal([all, all, forMembers, forMembers]);
  });

  it('listing, unlisting and turning off send the summary; fields that are not in it send nothing', async () => {
    await put('discovery', { description: 'x', tags: ['a'], category: 'music' });
    await waitForSummary(() => put('discovery', { listed: true }), { listed: true });
    await put('discovery', { listed: true });
    await waitForSummary(() => put('discovery', { listed: false }), { listed: false });
    await waitForSummary(() => put('community', { enabled: false }), { community: false });
    await put('community', { enabled: false });
    await waitForSummary(() => send(parlance, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: 'last' }), { name: 'last' });
    const flags = ['community, not listed', 'community, listed', 'community, not listed', 'not listed'];
    for (const { received } of recorders) {
      const summaries = received.flatMap(({ t, d }) =>
        t === 'SERVER_UPDATE' ? `${d.community ? 'community, ' : ''}${d.listed ? '' : 'not '}listed` : [],
      );
      expect(summaries.filter((one, n) => one !== summaries[n - 1])).to.deep.equal(flags);
    }
  });
});

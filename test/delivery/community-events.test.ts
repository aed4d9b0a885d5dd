import { expect } from 'chai';
import type { CommunitySettings } from '../../lib/contract/community.ts';
import { type Caller, makeBot, makeChannel, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

const names = ['SERVER_UPDATE', 'CHANNEL_CREATE'];

describe('the events of Community and Discovery', () => {
  let whole: Whole;
  let owner: Caller;
  let server: Place;
  /** The owner and a moderator, who see the channel for updates, then a member and a bot, who do not. */
  let ears: Ear[];
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    const moderator = await makeMember(whole, owner, server.id, 1 << 10);
    const member = await makeMember(whole, owner, server.id);
    const bot = await makeBot(whole, owner, server.id);
    ears = await Promise.all([...[owner, moderator, member].map(({ token }) => listenAs(whole, token)), listenAs(whole, bot.token, names)]);
  });
  after(async () => {
    await Promise.all(ears.map((ear) => ear.client.close()));
    await whole.close();
  });

  const at = (path: string): string => `/api/servers/${server.id}/${path}`;
  /** Runs `act`, and waits until all have heard a summary after its beginning that says `then`. */
  const told = async <T>(act: () => Promise<T>, then: object): Promise<T> => {
    const from = ears.map((ear) => ear.heard.length);
    const says = (d: Record<string, unknown>): boolean => Object.entries(then).every(([field, value]) => d[field] === value);
    const result = await act();
    await Promise.all(
      ears.map((ear, n) =>
        ear.hears((event) => event.t === 'SERVER_UPDATE' && says(event.d) && ear.heard.indexOf(event) >= (from[n] ?? 0)),
      ),
    );
    return result;
  };
  /** Waits until all have heard a channel that is made now, and a change of the server's name and back: what was owed before has been told then. */
  const settle = async (): Promise<void> => {
    const { id } = await makeChannel(whole, owner, server.id, { name: 'mark' });
    for (const name of [`mark ${id}`, server.name])
      await told(() => send(whole, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name }), { name });
    await Promise.all(ears.map((ear) => ear.hears(({ d }) => d.id === id)));
  };
  /** What each hears of `act`: summaries as what they say of the server, channels as their ids. */
  const heardOf = async (act: () => Promise<unknown>): Promise<unknown[][]> => {
    await settle();
    const from = ears.map((ear) => ear.heard.length);
    await act();
    await settle();
    return ears.map(({ heard }, n) =>
      heard.slice(from[n]).flatMap(({ t, d }) => {
        if (!names.includes(t) || d.name === 'mark' || (t === 'SERVER_UPDATE' && d.name !== server.name)) return [];
        return [t === 'SERVER_UPDATE' ? { community: d.community, listed: d.listed } : d.id];
      }),
    );
  };
  /** Sets it; with `then`, waits until all have heard the summary: what comes after it is another. */
  const put = (what: 'community' | 'discovery', body: object, then?: object): Promise<CommunitySettings> => {
    const act = () => send<CommunitySettings>(whole, 200, owner, 'PUT', at(what), body);
    return then ? told(act, then) : act();
  };
  const distinct = (heard: unknown[]): unknown[] =>
    heard.filter((one, n) => n === 0 || JSON.stringify(one) !== JSON.stringify(heard[n - 1]));

  it('turned on with new: the summary to all, each channel to who can see it, once', async () => {
    let set: CommunitySettings | undefined;
    const heard = await heardOf(async () => {
      set = await put('community', { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' }, { community: true });
    });
    const on = { community: true, listed: false };
    const { rulesChannelId: rules, updatesChannelId: updates } = set ?? expect.fail();
    const channelsOf = (one: unknown[]): unknown[] => one.filter((what) => typeof what === 'string');
    expect(heard.map(channelsOf)).to.deep.equal([[rules, updates], [rules, updates], [rules], [rules]]);
    for (const one of heard) expect(one).to.deep.include(on);
  });

  it('listed, unlisted and turned off: the summary; what it does not show tells nothing', async () => {
    const heard = await heardOf(async () => {
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
    for (const one of heard) expect(distinct(one)).to.deep.equal(summaries);
  });
});

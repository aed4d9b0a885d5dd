import { expect } from 'chai';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { type BotClient, connectBot } from '../harness/bot-client.ts';
import { toPayload } from '../harness/event-payload.ts';
import {
  authorize,
  type Bot,
  giveRole,
  leave,
  makeApplication,
  makeChannel,
  makeInvite,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  setOverwrite,
} from '../harness/factories.ts';
import { startNode, startParlance } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';

/** How many rounds; 1,000 take one to five minutes. More of them belong to the order tester (test/chaos/order). */
const rounds = Number(process.env.ROUNDS ?? 50);
const serverCount = 3;
/** How many people, and how many bots, of each server are connected to each node. */
const ofEachKind = 3;
const view = 1;
/** The channels of a server: everyone views `open`; a role shows `byRole`; everyone views `hall` until it is hidden for everyone. */
const memberChannels = ['open', 'byRole'] as const;
const channelNames = [...memberChannels, 'hall'] as const;
type ChannelName = (typeof channelNames)[number];

/** A session that records the contents of the posts that it receives. */
interface Listener {
  client: BotClient;
  received: Set<string>;
  /** Resolves when the session has received this content. */
  waitFor(content: string): Promise<void>;
}

/** An account that loses access and gets it back. */
interface Victim extends Listener {
  caller: Caller;
  bot: Bot | null;
  node: number;
}

/** A server in which the owner posts continuously. */
interface Flow {
  place: Place;
  channels: Record<ChannelName, string>;
  roleId: string;
  code: string;
  victims: Victim[];
  /** The number of the next post that is sent. The content of a post is `<server> <channel> <number>`. */
  next: number;
  /** The owner's sessions, one on each node. */
  observers: Listener[];
}

/** Takes access away from a victim, or gives it back. */
type Change = (flow: Flow, victim: Victim) => Promise<unknown>;

describe('gateway: access that was taken away', function () {
  this.timeout(600_000);
  const clients: BotClient[] = [];
  const parlance = use(() => startParlance());
  const second = use(() => startNode(parlance.platform.config));
  use(async () => ({ close: () => Promise.all(clients.map((client) => client.close())) }));
  const owner = make(() => makePerson(parlance));

  const listen = async (token: string, node: number): Promise<Listener> => {
    const received = new Set<string>();
    const waiting = new Map<string, (() => void)[]>();
    const client = connectBot({
      urlOf: () => (node === 0 ? parlance : second).gatewayUrl,
      token,
      onEvent: ({ t, d }) => {
        if (t !== 'MESSAGE_CREATE') return;
        const content = String(d.content);
        received.add(content);
        for (const resolve of waiting.get(content) ?? []) resolve();
        waiting.delete(content);
      },
    });
    clients.push(client);
    await client.ready;
    return {
      client,
      received,
      waitFor: (content) =>
        received.has(content)
          ? Promise.resolve()
          : new Promise((resolve) => waiting.set(content, [...(waiting.get(content) ?? []), resolve])),
    };
  };

  const remove = (path: string): Promise<unknown> => send(parlance, 204, owner, 'DELETE', path);
  const banPath = ({ place }: Flow, { caller }: Victim): string => `/api/servers/${place.id}/bans/${caller.id}`;
  const memberPath = ({ place }: Flow, { caller }: Victim): string => `/api/servers/${place.id}/members/${caller.id}`;
  const overwritePath = ({ channels }: Flow, { caller }: Victim): string => `/api/channels/${channels.open}/overwrites/${caller.id}`;
  const grantRole: Change = ({ place, roleId }, { caller }) => giveRole(parlance, owner, place.id, caller.id, roleId);
  const restoreAccess: Change = async (flow, victim) => {
    if (victim.bot) await authorize(parlance, owner, victim.bot, flow.place.id);
    else await send(parlance, 200, victim.caller, 'POST', `/api/invites/${flow.code}`);
    await grantRole(flow, victim);
  };
  const ban: Change = (...of) => send(parlance, 204, owner, 'PUT', banPath(...of));
  const unban: Change = async (...of) => {
    await remove(banPath(...of));
    await restoreAccess(...of);
  };
  const hideOpen: Change = ({ channels }, { caller }) => setOverwrite(parlance, owner, channels.open, caller.id, 0, view);

  /** Each change: the channels that it takes away, how it does so, and how access is given back. */
  const changes: [what: string, takes: readonly ChannelName[], take: Change, give: Change][] = [
    ['a ban', memberChannels, ban, unban],
    ['a kick', memberChannels, (...of) => remove(memberPath(...of)), restoreAccess],
    ['leaving', memberChannels, ({ place }, { caller }) => leave(parlance, caller, place.id), restoreAccess],
    ['an overwrite of the member', ['open'], hideOpen, (...of) => remove(overwritePath(...of))],
    ['a role that is taken away', ['byRole'], (...of) => remove(`${memberPath(...of)}/roles/${of[0].roleId}`), grantRole],
  ];

  const makeVictim = async (bot: boolean, node: number): Promise<Victim> => {
    const caller = bot ? await makeApplication(parlance, owner) : await makePerson(parlance);
    return { ...(await listen(caller.token, node)), caller, bot: bot ? (caller as Bot) : null, node };
  };
  const makeFlow = async (): Promise<Flow> => {
    const place = await makeServer(parlance, owner);
    const { id: roleId } = await makeRole(parlance, owner, place.id);
    const { code } = await makeInvite(parlance, owner, place.id, { maxAgeSecs: 0, maxUses: 0 });
    const [byRole, hall] = await Promise.all([0, 1].map(() => makeChannel(parlance, owner, place.id)));
    const channels = { open: place.general, byRole: byRole?.id ?? '', hall: hall?.id ?? '' };
    await setOverwrite(parlance, owner, channels.byRole, place.id, 0, view);
    await setOverwrite(parlance, owner, channels.byRole, roleId, view, 0);
    const each = Array.from({ length: ofEachKind }, () => [0, 1].flatMap((node) => [false, true].map((bot) => ({ node, bot }))));
    const victims = await Promise.all(each.flat().map(({ node, bot }) => makeVictim(bot, node)));
    const flow: Flow = { place, channels, roleId, code, victims, next: 0, observers: [] };
    for (const victim of victims) await restoreAccess(flow, victim);
    flow.observers = await Promise.all([0, 1].map((node) => listen(owner.token, node)));
    return flow;
  };

  const flows = make(() => Promise.all(Array.from({ length: serverCount }, makeFlow)));

  /** Posts into the channels of a server, one after another, until `isOver`. */
  const post = async (flow: Flow, isOver: () => boolean): Promise<void> => {
    while (!isOver())
      await Promise.all(
        channelNames.map((name) => {
          const content = `${flow.place.id} ${name} ${flow.next}`;
          return send(parlance, 201, owner, 'POST', `/api/channels/${flow.channels[name]}/messages`, { content });
        }),
      ).then(() => flow.next++);
  };
  const contentOf = ({ place }: Flow, name: ChannelName, n: number): string => `${place.id} ${name} ${n}`;
  /** Resolves when the victim has received everything that was appended before. */
  const caughtUp = async (victim: Victim): Promise<void> => {
    const id = parlance.worker.ids.next();
    const mark = {
      id,
      name: 'MESSAGE_CREATE' as const,
      payload: toPayload('MESSAGE_CREATE', { id, content: id }),
      onlyAccount: victim.caller.id,
    };
    await parlance.worker.eventLog.append(accountPlace(victim.caller.id), [mark]);
    await victim.waitFor(id);
  };
  /** One round: posts after the response must not arrive; after access is given back, new posts arrive again. */
  const runRound = async (flow: Flow, victim: Victim, [what, names, take, give]: (typeof changes)[number]): Promise<void> => {
    await take(flow, victim);
    const first = flow.next + 1; // posts numbered `next` may already have been sent
    for (const name of names) await flow.observers[victim.node]?.waitFor(contentOf(flow, name, first));
    await caughtUp(victim);
    const leaked = names.filter((name) => victim.received.has(contentOf(flow, name, first)));
    expect(leaked, `${what} of ${victim.caller.username} on node ${victim.node}`).to.deep.equal([]);
    await give(flow, victim);
    const again = flow.next + 1;
    for (const name of names) await victim.waitFor(contentOf(flow, name, again));
  };

  /** A round that hides a channel from everyone: no post after the response may arrive. */
  const hideRound = async (flow: Flow): Promise<void> => {
    const { channels, place, victims, observers } = flow;
    await setOverwrite(parlance, owner, channels.hall, place.id, 0, view);
    const hidden = contentOf(flow, 'hall', flow.next + 1);
    await Promise.all(observers.map((observer) => observer.waitFor(hidden)));
    await Promise.all(victims.map(caughtUp));
    const leaked = victims.filter(({ received }) => received.has(hidden)).map(({ caller, node }) => `${caller.username} on node ${node}`);
    expect(leaked, 'a channel that is hidden').to.deep.equal([]);
    await remove(`/api/channels/${channels.hall}/overwrites/${place.id}`);
    const shown = contentOf(flow, 'hall', flow.next + 1);
    await Promise.all(observers.map((observer) => observer.waitFor(shown)));
    hallPosts += victims.filter(({ received }) => received.has(shown)).length;
  };
  let hallPosts = 0;

  it(`people and bots on two nodes receive no later post, ${rounds} rounds under load`, async () => {
    let left = rounds;
    // Each server begins with another change. Then bots and people on both nodes meet every change already in the first rounds.
    const perVictim = flows.flatMap((flow, from) =>
      flow.victims.map(async (victim, at) => {
        for (let i = from + at; left > 0; i++) {
          left--;
          await runRound(flow, victim, changes[i % changes.length] as (typeof changes)[number]);
        }
      }),
    );
    const perFlow = flows.map(async (flow) => {
      for (; left > 0; left--) await hideRound(flow);
    });
    let isOver = false;
    const done = Promise.all([...perVictim, ...perFlow]).finally(() => {
      isOver = true;
    });
    await Promise.all([done, ...flows.map((flow) => post(flow, () => isOver))]);
    expect(hallPosts, 'posts of the channel that is shown again').to.be.greaterThan(0);
  });
});

import { forEachAtOnce } from '../../lib/base/at-once.ts';
import { idTimeMs } from '../../lib/base/ids.ts';
import { credentialOf } from '../../lib/domain/credentials.ts';
import type { Envelope } from '../../lib/store/bus/envelope.ts';
import { type Control, presenceTopic } from '../../lib/store/bus/topics.ts';
import { refreshServers } from './audience.ts';
import { type EventFrame, frameOf } from './frames.ts';
import { drop, invalidate, sendAway } from './leave.ts';
import { closeSocket, sendEvent } from './outlet.ts';
import type { People } from './people.ts';
import { checkPosition, reach } from './replay.ts';
import type { GatewayNode, LocalAccount } from './state.ts';

/** How many accounts are asked about at once after an interruption. */
const atOnce = 16;

/** Gives a live event to the bots' sessions that it names: what is next goes out, what was sent is dropped, what comes too early is read in order. */
function hearBots(node: GatewayNode, event: Envelope): void {
  const { head } = event;
  let frame: EventFrame | null = null;
  let sent = 0;
  for (const [id, s] of head.to) {
    const session = node.sessions.get(id);
    if (!session || s <= session.last) continue;
    if (session.busy || (node.replays && s !== session.last + 1)) {
      reach(node, session, s);
      continue;
    }
    session.last = s;
    frame ??= frameOf(event, node.platform.config.APP_KEY);
    sendEvent(node, session.socket, frame, s);
    sent++;
  }
  if (sent === 0) return;
  node.metrics.deliveries.inc({ event: head.t }, sent);
  if (head.t === 'MESSAGE_CREATE') node.metrics.deliveryLatency.observe(Math.max(0, node.platform.now() - idTimeMs(head.e)) / 1000);
}

/** An event from the subscription. */
export function hearEvent(node: GatewayNode, people: People, topic: string, event: Envelope): void {
  node.platform.generation.acknowledge(0, event.head.n, event.head.r);
  hearBots(node, event);
  const [kind, id = ''] = topic.split(':');
  if (kind === 'server') return people.hearServer(id, event);
  if (topic === presenceTopic) return people.hearPresence(event);
  const account = node.accounts.get(id);
  if (account && !account.bot) people.hearUser(account, event);
}

/** Checks every session's token again: a reset one is closed with 4004 (quality 5, Tokens). */
async function checkTokens(node: GatewayNode, account: LocalAccount): Promise<void> {
  for (const session of account.sessions) {
    const credential = await credentialOf(node.platform, session.token);
    if (credential?.account._id === account.id) continue;
    drop(node, session, 'wait');
    closeSocket(node, session.socket, 'badToken', 'the token is no longer valid');
  }
}

const checkPositions = async (node: GatewayNode, account: LocalAccount): Promise<void> => {
  for (const session of account.sessions) if (session.ready) await checkPosition(node, session);
};

/** Reads an account's servers anew; where topics are new, events may have passed before they were heard. Rejects when the database does not answer. */
export const refreshAccount = (node: GatewayNode, account: LocalAccount): Promise<void> =>
  refreshServers(node, account, () => void checkPositions(node, account));

/** Checks what may have changed about an account: its tokens and its servers. Tried again each second while a store does not answer. */
export async function checkAccount(node: GatewayNode, account: LocalAccount, tokens: boolean): Promise<void> {
  try {
    if (tokens) await checkTokens(node, account);
    await refreshAccount(node, account);
  } catch (error) {
    if (node.accounts.get(account.id) === account) node.unsure.add(account);
    node.platform.log.debug({ err: error, accountId: account.id }, 'checking an account failed; retrying');
  }
}

/** A control message. */
export function hearControl(node: GatewayNode, message: Control): void {
  switch (message.kind) {
    case 'generation':
      for (const session of node.sessions.values())
        if (session.account.bot) sendAway(node, session, 'lost', 'all sessions must start again');
        else invalidate(node, session, 'all sessions must start again');
      break;
    case 'access': {
      const account = node.accounts.get(message.accountId);
      if (account) void checkAccount(node, account, message.credentials === true);
      break;
    }
    case 'taken': {
      // The subscription may lag behind a later take-over by a socket of ours: Redis knows who holds it now.
      const session = node.sessions.get(message.session);
      if (session && session.owner !== message.owner) void checkPosition(node, session);
      break;
    }
  }
}

/**
 * The subscription was away: what was said meanwhile was missed. People begin anew; bots' sessions read what they lack, some at a time, after the
 * counters of Redis were compared, so that lost data are known first (quality 2). Rejects when Redis does not answer.
 */
export async function hearAgain(node: GatewayNode): Promise<void> {
  for (const session of node.sessions.values()) if (!session.account.bot) invalidate(node, session, 'events were missed');
  await node.platform.generation.boot();
  await forEachAtOnce([...node.accounts.values()], atOnce, async (account) => {
    await checkPositions(node, account);
    await checkAccount(node, account, true);
  });
}

/** Compares the position of every bot's session, some at a time: the connection that carries them was away. */
export const checkAllPositions = (node: GatewayNode): Promise<void> =>
  forEachAtOnce([...node.accounts.values()], atOnce, (account) => checkPositions(node, account));

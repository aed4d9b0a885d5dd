import { limits } from '../../lib/base/limits.ts';
import { loadServer, type ServerAccess } from '../../lib/domain/access.ts';
import type { Envelope } from '../../lib/store/bus/envelope.ts';
import type { Stored } from '../../lib/store/bus/sessions.ts';
import { frameOf } from './frames.ts';
import { mayHearStill } from './hearers.ts';
import { drop, invalidate } from './leave.ts';
import { closeSocket, drained, sendEvent } from './outlet.ts';
import { type GatewayNode, monotonic, type Session } from './state.ts';

/** How many stored events are read at once; a page is bounded in bytes too. */
const pageEvents = 1_000;

type Servers = Map<string, ServerAccess | null>;

/** The servers that a page's events belong to, as they stand now: one round trip for all their versions. */
async function serversOf({ platform }: GatewayNode, page: readonly Stored[]): Promise<Servers> {
  const ids = [...new Set(page.flatMap(({ event }) => event?.head.srv ?? []))];
  if (ids.length === 0) return new Map();
  const versions = await platform.versions.read(ids);
  return new Map(await Promise.all(ids.map(async (id, at) => [id, await loadServer(platform, id, versions?.[at] ?? null)] as const)));
}

/** Whether the account may see the event now (edge case 65): it may have lost the channel, a role or the server since it happened. */
async function maySee({ head }: Envelope, servers: Servers, accountId: string): Promise<boolean> {
  if (!head.srv) return true;
  const access = servers.get(head.srv);
  if (!access) return false;
  return mayHearStill(access, head, accountId);
}

/** What a verdict on an event depends on: its server and channel. */
const placeOf = ({ head }: Envelope): string => `${head.srv ?? ''} ${head.ch ?? ''} ${head.ow || head.was ? head.e : ''}`;

/** Sends a page in order; -1 when an event is missing before or inside it, else how many were sent. */
async function sendPage(node: GatewayNode, session: Session, page: readonly Stored[]): Promise<number> {
  const servers = await serversOf(node, page);
  // A page is judged on one state of access data: what holds for a channel holds for all its events here.
  const verdicts = new Map<string, boolean>();
  const seeing = async (event: Envelope): Promise<boolean> => {
    const seen = await maySee(event, servers, session.account.id);
    verdicts.set(placeOf(event), seen);
    return seen;
  };
  let sent = 0;
  for (const { s, event } of page) {
    if (s !== session.last + 1 || !event) return -1;
    const seen = verdicts.get(placeOf(event)) ?? (await seeing(event));
    if (!session.open) return sent;
    if (seen) {
      sendEvent(node, session.socket, frameOf(event, node.platform.config.APP_KEY), s);
      node.metrics.deliveries.inc({ event: event.head.t });
      sent++;
    }
    session.last = s;
  }
  return page.length > 0 ? sent : -1;
}

/**
 * Sends the session what its stream holds up to its target, which live events move on meanwhile: they are read from the stream too, so nothing is
 * buffered and nothing overtakes. Answers how many events were sent, or -1 when there is a hole. The session is busy until then; who calls makes it
 * not so in the same turn. Rejects when a store does not answer.
 */
export async function follow(node: GatewayNode, session: Session): Promise<number> {
  const { id, account, socket } = session;
  let replayed = 0;
  while (session.open && session.last < session.target) {
    const sent = await node.reading(async () => {
      if (!session.open) return 0;
      const page = await node.platform.sessions.read({ id, accountId: account.id }, session.last, pageEvents);
      return session.open ? await sendPage(node, session, page) : 0;
    });
    if (sent < 0) return -1;
    replayed += sent;
    // A long replay that moves on is not a client that fails to identify.
    if (socket.stage === 'entering') socket.deadline = monotonic() + limits.gatewayIdentifyMs;
    if (session.open && !(await drained(socket))) {
      drop(node, session, 'wait');
      closeSocket(node, socket, 'tooSlow', 'the reader does not keep up with its replay');
    }
  }
  return replayed;
}

async function catchUp(node: GatewayNode, session: Session): Promise<void> {
  session.busy = true;
  try {
    if ((await follow(node, session)) < 0) invalidate(node, session, 'events were lost');
    session.busy = false;
    if (session.open) reach(node, session, session.target);
  } catch (error) {
    session.busy = false;
    if (session.open) node.behind.add(session);
    node.platform.log.debug({ err: error, session: session.id }, 'catching up failed; retrying');
  }
}

/** Notes that the session's stream reaches `s`, and reads what it lacks unless that is under way. */
export function reach(node: GatewayNode, session: Session, s: number): void {
  if (s > session.target) session.target = s;
  if (session.busy || session.last >= session.target) return;
  if (node.replays) void catchUp(node, session);
  else session.last = session.target;
}

/**
 * The position check: keeps the session alive in Redis and compares where its sequence stands. What is behind is read; lost ownership closes the
 * socket; a sequence that went back means lost data (quality 2). Never rejects: a check that fails is made again within a second.
 */
export async function checkPosition(node: GatewayNode, session: Session): Promise<void> {
  // Events that arrive while Redis is asked are newer than its answer: compare with what was sent before.
  const sent = session.last;
  let s: number | null;
  try {
    s = await node.platform.sessions.refresh({ id: session.id, accountId: session.account.id, owner: session.owner });
  } catch {
    if (session.open) node.behind.add(session);
    return;
  }
  if (!session.open) return;
  if (!session.account.bot) {
    if (s === null) invalidate(node, session, 'the session is gone');
  } else if (s === null) lose(node, session);
  else if (s < sent) invalidate(node, session, 'events were lost');
  else reach(node, session, s);
}

/** Closes the socket of a session that another socket holds now, or that is gone. */
export function lose(node: GatewayNode, session: Session): void {
  drop(node, session, 'lost');
  closeSocket(node, session.socket, 'lost', 'the session is not held here any more');
}

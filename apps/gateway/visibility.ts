import { holds, permissionsOf } from '../../lib/base/permissions.ts';
import { loadServer, overwritesOf } from '../../lib/domain/access.ts';
import { type ViewChange, viewChangeOf } from '../../lib/domain/visibility.ts';
import type { Entry, EntryHead } from '../../lib/store/log/entry.ts';
import { getsMemberEvent } from './member-audience.ts';
import type { GatewayNode, Load, Place, Rules, Session } from './state.ts';

/** The channel whose overwrites decide about an entry; undefined when they stand in it, or none do. */
const channelOf = ({ channelId, overwrites }: EntryHead): string | undefined => (overwrites ? undefined : channelId);

/** Whether all is known that decides about an entry for these accounts, under its version. */
const isKnown = (rules: Rules | null, version: string, channelIds: Iterable<string>, accountIds: Iterable<string>): rules is Rules => {
  if (rules?.version !== version) return false;
  for (const id of channelIds) if (!rules.channels.has(id)) return false;
  for (const id of accountIds) if (!rules.members.has(id)) return false;
  return true;
};

const accountsOf = (sessions: ReadonlySet<Session>): Set<string> => new Set([...sessions].map(({ account }) => account.id));

/** Whether an entry can be given now: the access data under its version are there for everybody who is yet to be judged. */
export function canJudge(place: Place, { head }: Entry): boolean {
  if (place.serverId === null) return true;
  const channelId = channelOf(head);
  const audience = isPlain(head) ? place.recipients.get(head.channelId ?? '') : undefined;
  return isKnown(
    place.rules,
    head.rulesVersion,
    channelId === undefined ? [] : [channelId],
    accountsOf(audience?.unjudged ?? place.sessions),
  );
}

async function loadRules(node: GatewayNode, place: Place, serverId: string, { version, channelIds }: Load): Promise<void> {
  if (place.rules?.version !== version) {
    place.rules = { version, access: await loadServer(node.platform, serverId, version), channels: new Map(), members: new Map() };
    place.recipients.clear();
  }
  const { access, channels, members } = place.rules;
  const unknown = [...accountsOf(place.sessions)].filter((id) => !members.has(id));
  const unread = [...channelIds].filter((id) => !channels.has(id));
  if (access) await Promise.all([access.preload(unknown), access.preloadChannels(unread)]);
  for (const id of unknown) members.set(id, (await access?.member(id)) ?? null);
  for (const id of unread) {
    const channel = await access?.channel(id);
    channels.set(id, access && channel ? await overwritesOf(access, channel) : null);
  }
}

/**
 * Loads what `canJudge` asks for. Under a new version everything known before is forgotten. A place has one load at a time; what is asked for meanwhile is
 * loaded after it, in one go. Rejects when the database does not answer.
 */
export async function loadAccess(node: GatewayNode, place: Place, version: string, channelIds: Iterable<string>): Promise<void> {
  const { serverId } = place;
  if (serverId === null) return;
  let { nextLoad } = place;
  if (nextLoad?.version !== version) {
    const load: Load = { version, channelIds: new Set(), done: Promise.resolve() };
    load.done = place.loading.then(() => {
      if (place.nextLoad === load) place.nextLoad = null;
      return loadRules(node, place, serverId, load);
    });
    place.loading = load.done.catch(() => undefined);
    place.nextLoad = load;
    nextLoad = load;
  }
  for (const id of channelIds) nextLoad.channelIds.add(id);
  await nextLoad.done;
}

/** Loads what an entry's visibility needs. */
export const loadAccessFor = (node: GatewayNode, place: Place, { head }: Entry): Promise<void> => {
  const channelId = channelOf(head);
  return loadAccess(node, place, head.rulesVersion, channelId === undefined ? [] : [channelId]);
};

/** Whose event it is where a channel's viewers changed: who gained it, who lost it, or who sees it as before. */
const viewChangeFor = (head: EntryHead): ViewChange =>
  head.name === 'CHANNEL_CREATE' ? 'shown' : head.name === 'CHANNEL_DELETE' ? 'hidden' : 'seen';

/** Whether only the channel decides who hears it, so that one audience serves all such events. */
const isPlain = (head: EntryHead): boolean => !head.overwrites && !head.before && head.onlyAccount === undefined;

/**
 * Whether an account may see an event of a server on this state of its access data: who may view the event's channel; for a channel that is gone, who could
 * (its overwrites came with the event); where a channel became visible or hidden, whom that concerns; for an event of no channel, every member. Of an event that
 * is told late only what stands now counts (edge case 65): that a channel is hidden is told to every member who does not view it.
 */
function canReceive({ access, channels, members }: Rules, head: EntryHead, accountId: string, isLate: boolean): boolean {
  const member = members.get(accountId);
  if (!access || !member) return false;
  if (head.name === 'CHANNEL_DELETE' && head.onlyAccount !== undefined) return true;
  if (head.channelId === undefined) return true;
  const isHidden = isLate && head.name === 'CHANNEL_DELETE' && head.before !== undefined;
  const overwrites = head.overwrites ?? channels.get(head.channelId);
  if (!overwrites) return isHidden;
  if (head.before && !isLate) return viewChangeOf(access.server, member, overwrites, head.before) === viewChangeFor(head);
  return holds(permissionsOf(access.server, member, overwrites), 'View Channel') !== isHidden;
}

const isFor = ({ head }: Entry, { events, id, account }: Session): boolean =>
  (events === null || events.has(head.name)) &&
  head.exceptAccount !== account.id &&
  (head.onlyAccount === undefined || head.onlyAccount === account.id) &&
  (head.onlySession === undefined || head.onlySession === id);

/** Whether a session gets an entry that it reads from the log. What `prepare` loads must be there. */
export const canReceiveReplayed = (place: Place, entry: Entry, session: Session): boolean =>
  isFor(entry, session) &&
  (place.serverId === null ||
    (place.rules !== null &&
      canReceive(place.rules, entry.head, session.account.id, true) &&
      getsMemberEvent(place.rules, entry.head, session)));

function channelRecipientsOf(place: Place, head: EntryHead): ReadonlySet<Session> {
  const rules = place.rules as Rules;
  const known = place.recipients.get(head.channelId ?? '') ?? { sessions: new Set(), unjudged: new Set(place.sessions) };
  place.recipients.set(head.channelId ?? '', known);
  for (const session of known.unjudged) if (canReceive(rules, head, session.account.id, false)) known.sessions.add(session);
  known.unjudged.clear();
  return known.sessions;
}

/** The sessions that get a live entry. `canJudge` must hold. */
export function recipientsOf(place: Place, entry: Entry): Session[] {
  const { head } = entry;
  let all: Iterable<Session> = place.sessions;
  if (place.serverId !== null) {
    const { rules } = place;
    if (isPlain(head)) all = channelRecipientsOf(place, head);
    else all = [...place.sessions].filter((session) => rules !== null && canReceive(rules, head, session.account.id, false));
  }
  const { rules } = place;
  const isInterested = (session: Session): boolean => rules === null || getsMemberEvent(rules, head, session);
  return [...all].filter((session) => session.state === 'live' && isFor(entry, session) && isInterested(session));
}

/** Whether all is there that decides about entries of these channels for an account, under `version`. */
export const hasAccessData = (place: Place, version: string, channelIds: readonly string[], accountId: string): boolean =>
  isKnown(place.rules, version, channelIds, [accountId]);

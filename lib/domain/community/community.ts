import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import {
  type ChosenField,
  type CommunityInput,
  type CommunitySettings,
  chosenFields,
  type DiscoveryCategory,
} from '../../contract/community.ts';
import type { ChannelDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { owes, requireRoom } from '../events/pending-events.ts';
import { type Actor, inServer, mayView, type ServerAccess } from '../members/access.ts';
import { type Changes, changesOf, writeAudit } from '../servers/audit.ts';
import { unchooseChannel } from '../servers/removals.ts';
import { choosingMs, dropHeld, holdChannel, showChannel } from './community-channels.ts';

/** The Community and Discovery settings of a server. The fields have the names that request bodies and the audit log use. */
export interface Settings {
  community: boolean;
  rulesChannelId: string | null;
  updatesChannelId: string | null;
  listed: boolean;
  category: DiscoveryCategory;
  description: string;
  tags: string[];
}

/** Returns the settings of a server, with defaults for those that nobody has set. */
export const settingsOf = ({ community, listed, rulesChannelId, updatesChannelId, discovery }: ServerDoc): Settings => ({
  community,
  rulesChannelId: rulesChannelId ?? null,
  updatesChannelId: updatesChannelId ?? null,
  listed,
  category: discovery?.category ?? 'other',
  description: discovery?.description ?? '',
  tags: discovery?.tags ?? [],
});

/** Settings as the API returns them (docs/behavior/community.md#settings). */
export function shownSettings({ community, rulesChannelId, updatesChannelId, ...discovery }: Settings): CommunitySettings {
  const { listed, category, description, tags } = discovery;
  return { community, rulesChannelId, updatesChannelId, discovery: { listed, category, description, tags } };
}

/** Reads the server from the database. Refuses with 404 if it is deleted. */
export const serverStanding = async ({ db }: Platform, serverId: string): Promise<ServerDoc> =>
  (await db.servers.findOne({ _id: serverId }).lean()) ?? refuse('not_found', { what: 'server' });

/** The Community settings of a server. Needs Manage Server. */
export async function getCommunity(platform: Platform, actor: Actor, serverId: string): Promise<CommunitySettings> {
  const { server } = await inServer(platform, actor, serverId, 'Manage Server');
  return shownSettings(settingsOf(server));
}

/**
 * The update operators that add SERVER_UPDATE to a server's outbox; empty if `changes` contain neither `community` nor `listed`. Refuses with `unavailable` if
 * the server has too many pending events.
 */
export function summaryNews(platform: Platform, { ob = [] }: ServerDoc, changes: Changes): object {
  if (!('community' in changes) && !('listed' in changes)) return {};
  requireRoom(ob.length);
  return owes(platform, { name: 'SERVER_UPDATE' });
}

const auditSettings = (platform: Platform, actor: Actor, serverId: string, changes: Changes): Promise<void> =>
  writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes });

/** Turns Community off: clears both channels and takes the server out of Discovery. Its Discovery settings stay (docs/behavior/community.md#turning-off). */
async function turnOff(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<CommunitySettings> {
  const set = { community: false, rulesChannelId: null, updatesChannelId: null, listed: false };
  const standing = await serverStanding(platform, serverId);
  const changes = changesOf<Settings>(settingsOf(standing), set);
  if (Object.keys(changes).length === 0) return shownSettings(settingsOf(standing));
  const owed = summaryNews(platform, standing, changes);
  const before = await platform.versions.changing({ servers: [serverId] }, () =>
    platform.db.servers.findOneAndUpdate({ _id: serverId }, { $set: set, ...owed }, { returnDocument: 'before' }).lean(),
  );
  if (!before) return refuse('not_found', { what: 'server' });
  platform.nudge('relay-server', { serverId });
  const settings = settingsOf(before);
  const made = changesOf<Settings>(settings, set);
  if (Object.keys(made).length > 0) await auditSettings(platform, actor, serverId, made);
  return shownSettings({ ...settings, ...set });
}

/**
 * The next value of `field`: an id, or `new` for a channel that is to be created. While Community is on, a missing value keeps the current one, and so does
 * `new` if there is a channel, so that a repeated call creates no second one (docs/behavior/community.md#community-channels).
 */
function choiceOf({ community, ...standing }: Settings, input: CommunityInput, field: ChosenField): string | null {
  const given = input[field];
  if (community && (given === undefined || (given === 'new' && standing[field] !== null))) return standing[field];
  return given ?? refuseField(`/${field}`, community ? 'cannot be null while Community is on' : 'is needed to turn Community on');
}

/** Refuses an id unless it is a text channel of this server that the caller can view. */
async function requireTextChannel(access: ServerAccess, actor: Actor, field: ChosenField, channelId: string): Promise<void> {
  const channel = await access.channel(channelId);
  if (channel?.kind !== 'text' || channel.heldAt || !(await mayView(access, actor.id, channelId)))
    refuseField(`/${field}`, 'is not a text channel of this server');
}

/** The new settings, and the channels that were created for them and are still hidden (`heldAt`). */
interface Plan {
  set: Pick<Settings, 'community' | ChosenField>;
  made: ChannelDoc[];
}

/** Creates the requested channels, still hidden. Returns null and creates none if the server has no room for all of them. */
async function planFor(platform: EnqueuePlatform, actor: Actor, server: ServerDoc, choices: Plan['set']): Promise<Plan | null> {
  const made: ChannelDoc[] = [];
  const set = { ...choices };
  for (const field of chosenFields) {
    if (set[field] !== 'new') continue;
    const held = await holdChannel(platform, actor, server, field);
    if (!held) {
      const ids = made.map((one) => one._id);
      await dropHeld(platform, ids);
      return null;
    }
    made.push(held);
    set[field] = held._id;
  }
  return { set, made };
}

/** Matches the server only while its Community settings are as they were read. */
const asRead = ({ _id, community, rulesChannelId, updatesChannelId }: ServerDoc) => ({
  _id,
  community,
  rulesChannelId: rulesChannelId ?? null,
  updatesChannelId: updatesChannelId ?? null,
});

/**
 * Writes a plan if the settings are still those that it was made from, and makes its new channels visible. If another request changed the settings meanwhile,
 * deletes the channels and returns false. After an error the channels stay hidden, and the sweep shows or deletes them. A chosen channel that was deleted
 * concurrently is cleared from the settings, as by its deletion. Refuses with `unavailable` if more than `choosingMs` passed since `began`.
 */
async function carryOut(platform: EnqueuePlatform, server: ServerDoc, { set, made }: Plan, began: number): Promise<boolean> {
  if (performance.now() - began > choosingMs) refuse('unavailable', undefined, { retryAfter: 1 });
  const { servers, channels } = platform.db;
  const owed = summaryNews(platform, server, changesOf<Settings>(settingsOf(server), set));
  const { modifiedCount } = await servers.updateOne(asRead(server), { $set: set, ...owed });
  if (modifiedCount === 0) {
    const ids = made.map((one) => one._id);
    await dropHeld(platform, ids);
    return false;
  }
  platform.nudge('relay-server', { serverId: server._id });
  for (const channel of made) await showChannel(platform, channel);
  for (const field of chosenFields) {
    const channelId = set[field];
    if (channelId !== null && !(await channels.exists({ _id: channelId }))) await unchooseChannel(platform, server._id, channelId);
  }
  return true;
}

/** Turns Community on or changes its channels. Starts again if another request changed the settings meanwhile. */
async function turnOn(platform: EnqueuePlatform, actor: Actor, access: ServerAccess, input: CommunityInput): Promise<void> {
  const { _id: serverId } = access.server;
  for (;;) {
    const server = await serverStanding(platform, serverId);
    const standing = settingsOf(server);
    const [rulesChannelId, updatesChannelId] = chosenFields.map((field) => choiceOf(standing, input, field));
    const choices = { community: true, rulesChannelId: rulesChannelId ?? null, updatesChannelId: updatesChannelId ?? null };
    for (const field of chosenFields) {
      const choice = choices[field];
      if (choice !== null && choice !== 'new' && choice !== standing[field]) await requireTextChannel(access, actor, field, choice);
    }
    if (Object.keys(changesOf<Settings>(standing, choices)).length === 0) return;
    const began = performance.now();
    const plan = await planFor(platform, actor, server, choices);
    if (!plan) {
      if (await platform.db.servers.exists(asRead(server))) refuse('too_many_channels', { limit: limits.channelsPerServer });
      continue;
    }
    if (!(await carryOut(platform, server, plan, began))) continue;
    for (const channel of plan.made) {
      const { _id, name, kind } = channel;
      const changes = { name: { from: null, to: name }, kind: { from: null, to: kind } };
      await writeAudit(platform, actor, { id: _id, serverId, action: 'channel_create', targetId: _id, changes, channel });
    }
    return auditSettings(platform, actor, serverId, changesOf<Settings>(standing, plan.set));
  }
}

/**
 * Turns Community on or off, or changes its channels (docs/behavior/community.md#community-channels). Needs Manage Server. Turning it on needs both channels,
 * each an id or `new`. While it is on, missing fields keep their value and null is refused. A chosen channel must be a text channel of the server when it is
 * chosen; one that becomes an announcement channel later stays chosen. `new` creates a channel if none is chosen. If both are `new`, both channels are created
 * or neither. Refuses with `too_many_channels`.
 */
export async function setCommunity(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  input: CommunityInput,
): Promise<CommunitySettings> {
  const { access } = await inServer(platform, actor, serverId, 'Manage Server');
  if (!input.enabled) return turnOff(platform, actor, serverId);
  await platform.versions.changing({ servers: [serverId] }, () => turnOn(platform, actor, access, input));
  return shownSettings(settingsOf(await serverStanding(platform, serverId)));
}

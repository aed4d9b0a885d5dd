import { type FieldError, refuse, requireNoErrors } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import {
  type CommunityChannelField,
  type CommunityInput,
  type CommunitySettings,
  communityChannelFields,
  type DiscoveryCategory,
} from '../../contract/community.ts';
import { exists } from '../../store/mongo/database.ts';
import type { ChannelDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { type Changes, diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, canView, requireServer, type ServerAccess } from '../access/checks.ts';
import { addEvent, requireOutboxRoom } from '../events/pending.ts';
import { clearChosenChannel } from '../removals.ts';
import { choiceTimeoutMs, createHiddenChannel, deleteHiddenChannels, revealChannel } from './channels.ts';

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
export const toSettings = ({ community, listed, rulesChannelId, updatesChannelId, discovery }: ServerDoc): Settings => ({
  community,
  rulesChannelId: rulesChannelId ?? null,
  updatesChannelId: updatesChannelId ?? null,
  listed,
  category: discovery?.category ?? 'other',
  description: discovery?.description ?? '',
  tags: discovery?.tags ?? [],
});

/** Settings as the API returns them (docs/behavior/community.md#settings). */
export function toCommunitySettings({ community, rulesChannelId, updatesChannelId, ...discovery }: Settings): CommunitySettings {
  const { listed, category, description, tags } = discovery;
  return { community, rulesChannelId, updatesChannelId, discovery: { listed, category, description, tags } };
}

/** Reads the server from the database. Refuses with 404 if it is deleted. */
export const requireServerDoc = async ({ db }: Platform, serverId: string): Promise<ServerDoc> =>
  (await db.servers.findOne({ _id: serverId })) ?? refuse('not_found', { what: 'server' });

/** The Community settings of a server. Needs Manage Server. */
export async function getCommunity(platform: Platform, actor: Actor, serverId: string): Promise<CommunitySettings> {
  const { server } = await requireServer(platform, actor, serverId, 'Manage Server');
  return toCommunitySettings(toSettings(server));
}

/**
 * The update operators that add SERVER_UPDATE to a server's outbox; empty if `changes` contain neither `community` nor `listed`. Refuses with `unavailable` if
 * the server has too many pending events.
 */
export function addSummaryEvent(platform: Platform, { outbox }: ServerDoc, changes: Changes): object {
  if (!('community' in changes) && !('listed' in changes)) return {};
  requireOutboxRoom(outbox);
  return addEvent(platform, { name: 'SERVER_UPDATE' });
}

const auditSettings = (platform: Platform, actor: Actor, serverId: string, changes: Changes): Promise<void> =>
  writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes });

/** Turns Community off: clears both channels and takes the server out of Discovery. Its Discovery settings stay (docs/behavior/community.md#turning-off). */
async function disableCommunity(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<CommunitySettings> {
  const set = { community: false, rulesChannelId: null, updatesChannelId: null, listed: false };
  const current = await requireServerDoc(platform, serverId);
  const changes = diffFields<Settings>(toSettings(current), set);
  if (Object.keys(changes).length === 0) return toCommunitySettings(toSettings(current));
  const before = await platform.accessVersions.runChange({ servers: [serverId] }, () =>
    platform.db.servers.findOneAndUpdate(
      { _id: serverId },
      { $set: set, ...addSummaryEvent(platform, current, changes) },
      { returnDocument: 'before' },
    ),
  );
  if (!before) return refuse('not_found', { what: 'server' });
  platform.wake('relay-server', { serverId });
  const settings = toSettings(before);
  const appliedChanges = diffFields<Settings>(settings, set);
  if (Object.keys(appliedChanges).length > 0) await auditSettings(platform, actor, serverId, appliedChanges);
  return toCommunitySettings({ ...settings, ...set });
}

/**
 * The next value of `field`: an id, or `new` for a channel that is to be created. While Community is on, a missing value keeps the current one, and so does
 * `new` if there is a channel, so that a repeated call creates no second one (docs/behavior/community.md#community-channels).
 */
function resolveChoice({ community, ...current }: Settings, input: CommunityInput, field: CommunityChannelField): string | null {
  const requested = input[field];
  const isKept = community && (requested === undefined || (requested === 'new' && current[field] !== null));
  return isKept ? current[field] : (requested ?? null);
}

/** Whether this id is a text channel of the server that the caller can view. */
async function isTextChannel(access: ServerAccess, actor: Actor, channelId: string): Promise<boolean> {
  const channel = await access.channel(channelId);
  return channel?.kind === 'text' && !channel.heldAt && (await canView(access, actor.id, channelId));
}

/**
 * The errors in the choices of the channels: a channel that is needed and missing, or an id that is not such a channel. A value that is kept is not checked.
 */
async function findChoiceErrors(
  access: ServerAccess,
  actor: Actor,
  current: Settings,
  input: CommunityInput,
  choices: Pick<Settings, CommunityChannelField>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const field of communityChannelFields) {
    const choice = choices[field];
    const isMissing = input[field] === null || (input[field] === undefined && !current.community);
    const isChecked = choice !== null && choice !== 'new' && choice !== current[field];
    const missing = current.community ? 'A Community server needs this channel.' : 'Choose a channel to turn Community on.';
    if (isMissing) errors.push({ path: `/${field}`, message: missing });
    else if (isChecked && !(await isTextChannel(access, actor, choice)))
      errors.push({ path: `/${field}`, message: 'Choose a text channel of this server that you can view.' });
  }
  return errors;
}

/** The new settings, and the channels that were created for them and are still hidden (`heldAt`). */
interface CommunityPlan {
  set: Pick<Settings, 'community' | CommunityChannelField>;
  createdChannels: ChannelDoc[];
}

/** Creates the requested channels, still hidden. Returns null and creates none if the server has no room for all of them. */
async function createPlan(
  platform: EnqueuePlatform,
  actor: Actor,
  server: ServerDoc,
  choices: CommunityPlan['set'],
): Promise<CommunityPlan | null> {
  const createdChannels: ChannelDoc[] = [];
  const set = { ...choices };
  for (const field of communityChannelFields) {
    if (set[field] !== 'new') continue;
    const hiddenChannel = await createHiddenChannel(platform, actor, server, field);
    if (!hiddenChannel) {
      const ids = createdChannels.map((one) => one._id);
      await deleteHiddenChannels(platform, ids);
      return null;
    }
    createdChannels.push(hiddenChannel);
    set[field] = hiddenChannel._id;
  }
  return { set, createdChannels };
}

/** Matches the server only while its Community settings are as they were read. */
const unchangedFilter = ({ _id, community, rulesChannelId, updatesChannelId }: ServerDoc) => ({
  _id,
  community,
  rulesChannelId: rulesChannelId ?? null,
  updatesChannelId: updatesChannelId ?? null,
});

/**
 * Writes a plan if the settings are still those that it was made from, and makes its new channels visible. If another request changed the settings meanwhile,
 * deletes the channels and returns false. After an error the channels stay hidden, and the sweep shows or deletes them. A chosen channel that was deleted
 * concurrently is cleared from the settings, as by its deletion. Refuses with `unavailable` if more than `choiceTimeoutMs` passed since `startedAt`.
 */
async function applyPlan(
  platform: EnqueuePlatform,
  server: ServerDoc,
  { set, createdChannels }: CommunityPlan,
  startedAt: number,
): Promise<boolean> {
  if (performance.now() - startedAt > choiceTimeoutMs) refuse('unavailable');
  const { servers, channels } = platform.db;
  const pendingEvent = addSummaryEvent(platform, server, diffFields<Settings>(toSettings(server), set));
  const { modifiedCount } = await servers.updateOne(unchangedFilter(server), { $set: set, ...pendingEvent });
  if (modifiedCount === 0) {
    const ids = createdChannels.map((one) => one._id);
    await deleteHiddenChannels(platform, ids);
    return false;
  }
  platform.wake('relay-server', { serverId: server._id });
  for (const channel of createdChannels) await revealChannel(platform, channel);
  for (const field of communityChannelFields) {
    const channelId = set[field];
    if (channelId !== null && !(await exists(channels, { _id: channelId }))) await clearChosenChannel(platform, server._id, channelId);
  }
  return true;
}

/** Turns Community on or changes its channels. Starts again if another request changed the settings meanwhile. */
async function enableCommunity(platform: EnqueuePlatform, actor: Actor, access: ServerAccess, input: CommunityInput): Promise<void> {
  const { _id: serverId } = access.server;
  for (;;) {
    const server = await requireServerDoc(platform, serverId);
    const current = toSettings(server);
    const [rulesChannelId, updatesChannelId] = communityChannelFields.map((field) => resolveChoice(current, input, field));
    const choices = { community: true, rulesChannelId: rulesChannelId ?? null, updatesChannelId: updatesChannelId ?? null };
    requireNoErrors(await findChoiceErrors(access, actor, current, input, choices));
    if (Object.keys(diffFields<Settings>(current, choices)).length === 0) return;
    const startedAt = performance.now();
    const plan = await createPlan(platform, actor, server, choices);
    if (!plan) {
      if (await exists(platform.db.servers, unchangedFilter(server))) refuse('too_many_channels', { limit: limits.channelsPerServer });
      continue;
    }
    if (!(await applyPlan(platform, server, plan, startedAt))) continue;
    for (const channel of plan.createdChannels) {
      const { _id, name, kind } = channel;
      const changes = { name: { from: null, to: name }, kind: { from: null, to: kind } };
      await writeAudit(platform, actor, { id: _id, serverId, action: 'channel_create', targetId: _id, changes, channel });
    }
    return auditSettings(platform, actor, serverId, diffFields<Settings>(current, plan.set));
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
  const { access } = await requireServer(platform, actor, serverId, 'Manage Server');
  if (!input.enabled) return disableCommunity(platform, actor, serverId);
  await platform.accessVersions.runChange({ servers: [serverId] }, () => enableCommunity(platform, actor, access, input));
  return toCommunitySettings(toSettings(await requireServerDoc(platform, serverId)));
}

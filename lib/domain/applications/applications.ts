import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { toParts } from '../../base/parts.ts';
import { foldSearch, toWellFormed } from '../../base/text.ts';
import type { Application, ApplicationInput, ApplicationPatch, NewApplication } from '../../contract/application.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertInSlot, insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc, ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { serversPerChange } from '../../store/redis/server-changes.ts';
import { createSecret, seal, unseal } from '../../store/seal.ts';
import { requireOwnApplication } from '../access/application-ownership.ts';
import type { Actor } from '../access/checks.ts';
import { newToken } from '../access/credentials.ts';
import { findAllServerIds } from '../access/memberships.ts';
import { addEventInPipeline, addEventToEach } from '../events/pending.ts';
import { withMemberRename } from '../members/names.ts';
import { removeApplication } from '../removals.ts';
import { toAuthor } from '../views/accounts.ts';
import { changeBot } from './bots.ts';
import { requirePong } from './endpoints.ts';

/** The account of an application's bot. It has the application's id, so that a create that is repeated after a crash finds the account it made. */
const newBotAccount = ({ _id, botId, name, iconUrl, createdAt }: ApplicationDoc): AccountDoc => ({
  _id: botId,
  kind: 'bot',
  username: name,
  displayName: name,
  avatarUrl: iconUrl,
  tag: null,
  passwordHash: null,
  applicationId: _id,
  status: 'online',
  customStatus: null,
  createdAt,
});

/** The search fields of an application for the App Directory (docs/behavior/community.md#search). The name is also the bot's username. */
const toSearchFields = ({ name, description }: ApplicationPatch): { name?: string; description?: string } => ({
  ...(name === undefined ? {} : { name: foldSearch(name.trim()) }),
  ...(description === undefined ? {} : { description: foldSearch(description) }),
});

async function toApplication(platform: Platform, doc: ApplicationDoc): Promise<Application> {
  const bot = await platform.db.accounts.findOne({ _id: doc.botId });
  return {
    id: doc._id,
    name: doc.name,
    description: doc.description,
    iconUrl: doc.iconUrl,
    public: doc.public,
    inDirectory: doc.inDirectory,
    interactionsEndpointUrl: doc.interactionsEndpointUrl,
    bot: toAuthor(bot ?? newBotAccount(doc)),
    signingSecret: unseal(platform.config, doc.signingSecret),
    createdAt: doc.createdAt.toISOString(),
  };
}

/** Replaces the token of a bot in one write. The old token stops working at once, for requests and for open sockets. */
async function replaceBotToken(platform: Platform, botId: string): Promise<string> {
  const { token, hash } = newToken(botId);
  const doc = { _id: botId, accountId: botId, kind: 'bot' as const, hash, createdAt: new Date(platform.now()), expiresAt: null };
  await platform.accessVersions.runChange({ accounts: [botId], credentials: true }, () =>
    platform.db.tokens.replaceOne({ _id: botId }, doc, { upsert: true }),
  );
  return token;
}

/** Creates an application of the caller, with its bot. People only. Refuses with `too_many_applications`. Only this response contains the token. */
export async function createApplication(platform: Platform, actor: Actor, input: ApplicationInput, newId: string): Promise<NewApplication> {
  const application = {
    _id: newId,
    ownerId: actor.id,
    botId: newId,
    name: toWellFormed(input.name.trim()),
    description: toWellFormed(input.description ?? ''),
    iconUrl: null,
    public: false,
    inDirectory: false,
    interactionsEndpointUrl: null,
    signingSecret: seal(platform.config.APP_KEY, createSecret()),
    search: toSearchFields(input),
    createdAt: new Date(platform.now()),
  };
  const scope = { ownerId: actor.id };
  const inserted = await insertInSlot(platform.db.applications, scope, limits.applicationsPerPerson, application);
  if (inserted.outcome === 'full') return refuse('too_many_applications', { limit: limits.applicationsPerPerson });
  await insertNew(platform.db.accounts, newBotAccount(inserted.doc));
  const token = await replaceBotToken(platform, newId);
  const created = await toApplication(platform, inserted.doc);
  // The secret is null if an earlier try of this create made the application and `APP_KEY` was replaced since.
  const signingSecret = created.signingSecret ?? (await resetSigningSecret(platform, actor, newId)).signingSecret;
  return { ...created, signingSecret, token };
}

/** The caller's applications, oldest first. */
export async function listApplications(platform: Platform, actor: Actor): Promise<Application[]> {
  const found = await platform.db.applications.find({ ownerId: actor.id }).sort({ _id: 1 }).toArray();
  return Promise.all(found.map((one) => toApplication(platform, one)));
}

/** One application, for its owner. */
export const getApplication = async (platform: Platform, actor: Actor, id: string): Promise<Application> =>
  toApplication(platform, await requireOwnApplication(platform, actor, id));

/**
 * Changes an application, for its owner. Missing fields keep their value. A new name also becomes the name of the bot and of the bot's own roles. An
 * application that becomes private leaves the directory. An interactions endpoint is pinged first (docs/behavior/interactions.md#saving-a-url). Refuses with
 * `not_public` to list a private application, and with `endpoint_unverified` if the ping fails; then nothing is changed.
 */
export async function updateApplication(
  platform: EnqueuePlatform,
  actor: Actor,
  id: string,
  patch: ApplicationPatch,
): Promise<Application> {
  const application = await requireOwnApplication(platform, actor, id);
  const { _id } = application;
  const { inDirectory, interactionsEndpointUrl } = patch;
  if (inDirectory === true && !(patch.public ?? application.public)) refuse('not_public');
  if (typeof interactionsEndpointUrl === 'string') await requirePong(platform, application, interactionsEndpointUrl);
  const set = {
    ...(patch.name === undefined ? {} : { name: patch.name.trim() }),
    ...(patch.description === undefined ? {} : { description: patch.description }),
    ...Object.fromEntries(Object.entries(toSearchFields(patch)).map(([field, text]) => [`search.${field}`, text])),
    ...(patch.public === undefined ? {} : { public: patch.public }),
    ...(inDirectory === undefined ? {} : { inDirectory }),
    ...(patch.public === false ? { inDirectory: false } : {}),
    ...(interactionsEndpointUrl === undefined ? {} : { interactionsEndpointUrl }),
  };
  // Does not list an application that a concurrent call makes private.
  const publicFilter = inDirectory === true && patch.public !== true ? { public: true } : {};
  const after = await changeBot(platform, application.botId, () =>
    platform.db.applications.findOneAndUpdate({ _id, ...publicFilter }, { $set: set }, { returnDocument: 'after' }),
  );
  if (!after)
    return (await exists(platform.db.applications, { _id })) ? refuse('not_public') : refuse('not_found', { what: 'application' });
  if (patch.name !== undefined) await renameBot(platform, after);
  return toApplication(platform, after);
}

/**
 * Gives a bot, and its own role in each server, the name of its application. Repeats if the application was renamed again meanwhile, so that the last name
 * stays. The account is renamed before the servers are listed: a concurrent `authorizeBot` reads the account after it has added the bot.
 */
async function renameBot(platform: EnqueuePlatform, { _id, botId, name }: Pick<ApplicationDoc, '_id' | 'botId' | 'name'>): Promise<void> {
  const { accounts, applications } = platform.db;
  const newName = { $literal: name };
  // A display name that the bot chose for itself stays.
  const newDisplayName = { $cond: [{ $eq: ['$displayName', '$username'] }, newName, '$displayName'] };
  await withMemberRename(platform, botId, () =>
    platform.accessVersions.runChange({ accounts: [botId] }, () =>
      accounts.updateOne({ _id: botId }, [
        { $set: { username: newName, displayName: newDisplayName, ...addEventInPipeline(platform, { name: 'USER_UPDATE' }) } },
      ]),
    ),
  );
  platform.wake('relay-account', { accountId: botId });
  const serverIds = await findAllServerIds(platform, botId);
  const renamedRole = { $mergeObjects: ['$$role', { name: newName }] };
  const isOwnRole = { $eq: ['$$role.botId', { $literal: botId }] };
  const roles = { $map: { input: '$roles', as: 'role', in: { $cond: [isOwnRole, renamedRole, '$$role'] } } };
  for (const some of toParts(serverIds, serversPerChange)) {
    await platform.accessVersions.runChange({ servers: some }, () => {
      const pendingEvent = addEventToEach(platform, { name: 'ROLE_UPDATE', data: { botId } });
      return platform.db.servers.updateMany({ _id: { $in: some }, roles: { $elemMatch: { botId, name: { $ne: name } } } }, [
        { $set: { roles, rolesVersion: { $add: ['$rolesVersion', 1] }, ...pendingEvent } },
      ]);
    });
    for (const serverId of some) platform.wake('relay-server', { serverId });
  }
  const current = await applications.findOne({ _id }, { projection: { name: 1 } });
  if (current && current.name !== name) await renameBot(platform, { _id, botId, name: current.name });
}

/**
 * Deletes an application and its bot. From then on the bot can neither act nor be added, and the application is in no list. A job removes the bot from its
 * servers and deletes what is left. Its messages stay; its unanswered interactions expire. Refuses with 404 if the application was already deleted.
 */
export async function deleteApplication(platform: EnqueuePlatform, actor: Actor, id: string): Promise<void> {
  const application = await requireOwnApplication(platform, actor, id);
  if (!(await removeApplication(platform, application))) refuse('not_found', { what: 'application' });
}

/** Makes a new bot token, for the owner. The old one stops working at once (docs/behavior/accounts.md#bot-tokens). 404 if the application is deleted. */
export async function resetToken(platform: Platform, actor: Actor, id: string): Promise<{ token: string }> {
  const { botId } = await requireOwnApplication(platform, actor, id);
  const token = await replaceBotToken(platform, botId);
  if (await exists(platform.db.accounts, { _id: botId })) return { token };
  // The application was deleted meanwhile, and its tokens possibly before the new one was stored.
  await platform.db.tokens.deleteMany({ accountId: botId });
  return refuse('not_found', { what: 'application' });
}

/** Replaces the signing secret, for the owner. */
export async function resetSigningSecret(platform: Platform, actor: Actor, id: string): Promise<{ signingSecret: string }> {
  const { _id, botId } = await requireOwnApplication(platform, actor, id);
  const signingSecret = createSecret();
  const encryptedSecret = seal(platform.config.APP_KEY, signingSecret);
  const { matchedCount } = await changeBot(platform, botId, () =>
    platform.db.applications.updateOne({ _id }, { $set: { signingSecret: encryptedSecret } }),
  );
  if (matchedCount === 0) refuse('not_found', { what: 'application' });
  return { signingSecret };
}

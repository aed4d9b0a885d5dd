import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { folded, wellFormed } from '../../base/text.ts';
import type { Application, ApplicationInput, ApplicationPatch, NewApplication } from '../../contract/application.ts';
import { insertInSlot, insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc, ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { newSecret, seal, unseal } from '../../store/seal.ts';
import { newToken } from '../accounts/credentials.ts';
import { authorOf } from '../accounts/public-profiles.ts';
import { alsoOwes, eachOwes } from '../events/pending-events.ts';
import { requirePong } from '../interactions/endpoints.ts';
import type { Actor } from '../members/access.ts';
import { renaming } from '../members/member-names.ts';
import { removeApplication } from '../servers/removals.ts';
import { ownApplication } from './applications-owned.ts';

/** The account of an application's bot. It has the application's id, so that a create that is repeated after a crash finds the account it made. */
const botOf = ({ _id, botId, name, iconUrl, createdAt }: ApplicationDoc): AccountDoc => ({
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
const searchOf = ({ name, description }: ApplicationPatch): { name?: string; description?: string } => ({
  ...(name === undefined ? {} : { name: folded(name.trim()) }),
  ...(description === undefined ? {} : { description: folded(description) }),
});

async function applicationOf(platform: Platform, doc: ApplicationDoc): Promise<Application> {
  const bot = await platform.db.accounts.findOne({ _id: doc.botId }).lean();
  return {
    id: doc._id,
    name: doc.name,
    description: doc.description,
    iconUrl: doc.iconUrl,
    public: doc.public,
    inDirectory: doc.inDirectory,
    interactionsEndpointUrl: doc.interactionsEndpointUrl,
    bot: authorOf(bot ?? botOf(doc)),
    signingSecret: unseal(platform.config, doc.signingSecret),
    createdAt: doc.createdAt.toISOString(),
  };
}

/** Replaces the token of a bot in one write. The old token stops working at once, for requests and for open sockets. */
async function giveToken(platform: Platform, botId: string): Promise<string> {
  const { token, hash } = newToken(botId);
  const doc = { _id: botId, accountId: botId, kind: 'bot' as const, hash, createdAt: new Date(platform.now()), expiresAt: null };
  await platform.versions.changing({ accounts: [botId], credentials: true }, () =>
    platform.db.tokens.replaceOne({ _id: botId }, doc, { upsert: true }),
  );
  return token;
}

/** Creates an application of the caller, with its bot. People only. Refuses with `too_many_applications`. Only this response contains the token. */
export async function createApplication(platform: Platform, actor: Actor, input: ApplicationInput, newId: string): Promise<NewApplication> {
  const fresh = {
    _id: newId,
    ownerId: actor.id,
    botId: newId,
    name: wellFormed(input.name.trim()),
    description: wellFormed(input.description ?? ''),
    iconUrl: null,
    public: false,
    inDirectory: false,
    interactionsEndpointUrl: null,
    signingSecret: seal(platform.config.APP_KEY, newSecret()),
    search: searchOf(input),
    createdAt: new Date(platform.now()),
  };
  const scope = { ownerId: actor.id };
  const inserted = await insertInSlot(platform.db.applications, scope, limits.applicationsPerPerson, fresh);
  if (inserted.end === 'full') return refuse('too_many_applications', { limit: limits.applicationsPerPerson });
  await insertNew(platform.db.accounts, botOf(inserted.doc));
  const token = await giveToken(platform, newId);
  const made = await applicationOf(platform, inserted.doc);
  // The secret is null if an earlier try of this create made the application and `APP_KEY` was replaced since.
  const signingSecret = made.signingSecret ?? (await resetSigningSecret(platform, actor, newId)).signingSecret;
  return { ...made, signingSecret, token };
}

/** The caller's applications, oldest first. */
export async function listApplications(platform: Platform, actor: Actor): Promise<Application[]> {
  const found = await platform.db.applications.find({ ownerId: actor.id }).sort({ _id: 1 }).lean();
  return Promise.all(found.map((one) => applicationOf(platform, one)));
}

/** One application, for its owner. */
export const getApplication = async (platform: Platform, actor: Actor, id: string): Promise<Application> =>
  applicationOf(platform, await ownApplication(platform, actor, id));

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
  const application = await ownApplication(platform, actor, id);
  const { _id } = application;
  const { inDirectory, interactionsEndpointUrl } = patch;
  if (inDirectory === true && !(patch.public ?? application.public)) refuse('not_public');
  if (typeof interactionsEndpointUrl === 'string') await requirePong(platform, application, interactionsEndpointUrl);
  const set = {
    ...(patch.name === undefined ? {} : { name: patch.name.trim() }),
    ...(patch.description === undefined ? {} : { description: patch.description }),
    ...Object.fromEntries(Object.entries(searchOf(patch)).map(([field, text]) => [`search.${field}`, text])),
    ...(patch.public === undefined ? {} : { public: patch.public }),
    ...(inDirectory === undefined ? {} : { inDirectory }),
    ...(patch.public === false ? { inDirectory: false } : {}),
    ...(interactionsEndpointUrl === undefined ? {} : { interactionsEndpointUrl }),
  };
  // Does not list an application that a concurrent call makes private.
  const still = inDirectory === true && patch.public !== true ? { public: true } : {};
  const after = await platform.db.applications.findOneAndUpdate({ _id, ...still }, { $set: set }, { returnDocument: 'after' }).lean();
  if (!after) return (await platform.db.applications.exists({ _id })) ? refuse('not_public') : refuse('not_found', { what: 'application' });
  if (patch.name !== undefined) await renameBot(platform, after);
  return applicationOf(platform, after);
}

const serversOf = async (platform: Platform, botId: string): Promise<string[]> =>
  (await platform.db.members.find({ userId: botId }, { serverId: 1 }).sort({ serverId: 1 }).lean()).map((one) => one.serverId);

/**
 * Gives a bot, and its own role in each server, the name of its application. Repeats if the application was renamed again meanwhile, so that the last name
 * stays. The account is renamed before the servers are listed: a concurrent `authorizeBot` reads the account after it has added the bot.
 */
async function renameBot(platform: EnqueuePlatform, { _id, botId, name }: Pick<ApplicationDoc, '_id' | 'botId' | 'name'>): Promise<void> {
  const { accounts, applications } = platform.db;
  const fresh = { $literal: name };
  // A display name that the bot chose for itself stays.
  const shown = { $cond: [{ $eq: ['$displayName', '$username'] }, fresh, '$displayName'] };
  await renaming(platform, botId, () =>
    platform.versions.changing({ accounts: [botId] }, () =>
      accounts.collection.updateOne({ _id: botId as never }, [
        { $set: { username: fresh, displayName: shown, ...alsoOwes(platform, { name: 'USER_UPDATE' }) } },
      ]),
    ),
  );
  platform.nudge('relay-account', { accountId: botId });
  const servers = await serversOf(platform, botId);
  const renamed = { $mergeObjects: ['$$role', { name: fresh }] };
  const own = { $eq: ['$$role.botId', { $literal: botId }] };
  const roles = { $map: { input: '$roles', as: 'role', in: { $cond: [own, renamed, '$$role'] } } };
  const owed = eachOwes(platform, { name: 'ROLE_UPDATE', data: { botId } });
  await platform.versions.changing({ servers }, () =>
    platform.db.servers.collection.updateMany({ _id: { $in: servers as never[] }, roles: { $elemMatch: { botId, name: { $ne: name } } } }, [
      { $set: { roles, rolesVersion: { $add: ['$rolesVersion', 1] }, ...owed } },
    ]),
  );
  for (const serverId of servers) platform.nudge('relay-server', { serverId });
  const now = await applications.findOne({ _id }, { name: 1 }).lean();
  if (now && now.name !== name) await renameBot(platform, { _id, botId, name: now.name });
}

/**
 * Deletes an application and its bot. From then on the bot can neither act nor be added, and the application is in no list. A job removes the bot from its
 * servers and deletes what is left. Its messages stay; its unanswered interactions expire. Refuses with 404 if the application was already deleted.
 */
export async function deleteApplication(platform: EnqueuePlatform, actor: Actor, id: string): Promise<void> {
  const application = await ownApplication(platform, actor, id);
  if (!(await removeApplication(platform, application))) refuse('not_found', { what: 'application' });
}

/** Makes a new bot token, for the owner. The old one stops working at once (docs/behavior/accounts.md#bot-tokens). 404 if the application is deleted. */
export async function resetToken(platform: Platform, actor: Actor, id: string): Promise<{ token: string }> {
  const { botId } = await ownApplication(platform, actor, id);
  const token = await giveToken(platform, botId);
  if (await platform.db.accounts.exists({ _id: botId })) return { token };
  // The application was deleted meanwhile, and its tokens possibly before the new one was stored.
  await platform.db.tokens.deleteMany({ accountId: botId });
  return refuse('not_found', { what: 'application' });
}

/** Replaces the signing secret, for the owner. */
export async function resetSigningSecret(platform: Platform, actor: Actor, id: string): Promise<{ signingSecret: string }> {
  const { _id } = await ownApplication(platform, actor, id);
  const signingSecret = newSecret();
  const sealed = seal(platform.config.APP_KEY, signingSecret);
  const { matchedCount } = await platform.db.applications.updateOne({ _id }, { $set: { signingSecret: sealed } });
  if (matchedCount === 0) refuse('not_found', { what: 'application' });
  return { signingSecret };
}

import { refuse } from '../../base/errors.ts';
import type { AccountDeletion } from '../../contract/account-deletion.ts';
import type { LoginInput, RegisterInput, Session } from '../../contract/auth.ts';
import { type Me, type MeDetails, type MePatch, type PresencePatch } from '../../contract/user.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { type ApiPlatform, type EnqueuePlatform, type Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { addEventInPipeline } from '../events/pending.ts';
import { requireAdmittingInvite } from '../members/invites.ts';
import { withMemberRename } from '../members/names.ts';
import { systemAccount } from '../system-account.ts';
import { getTag, toUserSummary } from '../views/accounts.ts';
import { authenticatePerson } from './authentication.ts';
import { requireNewPassword } from './new-passwords.ts';
import { hashPassword, queueHash } from './passwords.ts';
import { type Client, createSession, type Opening } from './sessions.ts';
import { hasTwoFactor } from './two-factor-codes.ts';

/** A deletion as it is stored, as the API returns it. */
export const toAccountDeletion = ({ at, messages }: NonNullable<AccountDoc['deletion']>): AccountDeletion => ({
  deletesAt: at.toISOString(),
  messages,
});

/** An account as `GET /api/auth/me` returns it to itself (docs/behavior/accounts.md#own-account). */
export const toMe = (account: AccountDoc): Me => ({
  ...toUserSummary(account),
  tag: getTag(account),
  status: account.status,
  customStatus: account.customStatus,
  bot: account.kind === 'bot',
  ...(account.applicationId === null ? {} : { applicationId: account.applicationId }),
  ...(account.deletion && { deletion: toAccountDeletion(account.deletion) }),
  createdAt: account.createdAt.toISOString(),
});

/** Opens a session for a person and returns what a login returns. `opening` as in `createSession`, as which it refuses. */
export async function openSession(platform: Platform, account: AccountDoc, client: Client, opening: Opening = {}): Promise<Session> {
  return { user: toMe(account), token: await createSession(platform, account, client, opening) };
}

/** The document of a new person with the id `id`. Without a display name it shows the username. */
export const newPerson = (
  platform: Platform,
  id: string,
  { username, displayName }: Pick<RegisterInput, 'username' | 'displayName'>,
  passwordHash: string | null,
): AccountDoc => ({
  _id: id,
  kind: 'person',
  username,
  displayName: displayName?.trim() ?? username,
  avatarUrl: null,
  tag: null,
  passwordHash,
  applicationId: null,
  status: 'online',
  customStatus: null,
  createdAt: new Date(platform.now()),
});

/** Refuses a registration that the setting REGISTRATION does not allow (docs/behavior/accounts.md#registration). */
async function requireRegistration(platform: Platform, { invite }: RegisterInput): Promise<void> {
  const { REGISTRATION } = platform.config;
  if (REGISTRATION === 'closed') refuse('registration_closed');
  if (REGISTRATION === 'invite') await requireAdmittingInvite(platform, invite ?? refuse('invite_required'));
}

/**
 * Creates a person's account with the id `newId` and opens its first session. Refuses with `username_taken` if the name is taken, also by a concurrent
 * registration, and for the username of the platform's own account. Refuses `registration_closed`, and `invite_required` or as `requireAdmittingInvite` if
 * registration needs an invite, and as `requireNewPassword`. A name that is known to be taken is refused before the password is hashed. Otherwise
 * refuses as `queueHash` does.
 */
export async function register(platform: Platform, input: RegisterInput, newId: string, client: Client): Promise<Session> {
  const { accounts } = platform.db;
  requireNewPassword(input.password, input.username, '/password');
  await requireRegistration(platform, input);
  if (input.username === systemAccount.username) refuse('username_taken');
  const existing = await accounts.findOne({ username: input.username, kind: 'person' });
  // A registration that is run again after a crash has no code, so it must not log in to an account that has turned two-factor authentication on since.
  if (existing?._id === newId && !hasTwoFactor(existing)) return openSession(platform, existing, client);
  if (existing) return refuse('username_taken');
  const account = newPerson(platform, newId, input, await queueHash(client.address, () => hashPassword(input.password)));
  if (await insertNew(accounts, account)) return openSession(platform, account, client);
  const created = await accounts.findOne({ _id: newId, username: input.username });
  return created ? openSession(platform, created, client) : refuse('username_taken');
}

/** Opens a session for a username and its password, and its code if it needs one. Refuses as `authenticatePerson` and `createSession` do. */
export const login = async (platform: Platform, input: LoginInput, client: Client): Promise<Session> =>
  openSession(platform, await authenticatePerson(platform, input, client), client);

/**
 * Changes the caller's profile. Missing fields keep their value; null and "" clear a field. An account without a display name shows its username, also if the
 * username changes concurrently. The next request sees the change on every node.
 */
export async function updateMe(platform: EnqueuePlatform, actor: Actor, { displayName, bio, pronouns }: MePatch): Promise<MeDetails> {
  const pendingEvent = addEventInPipeline(platform, { name: 'USER_UPDATE' });
  // A `$set` stage cannot be empty, so it always sets the username to its current value.
  const set = {
    username: '$username',
    ...(displayName === undefined ? {} : { displayName: displayName ? { $literal: displayName.trim() } : '$username', ...pendingEvent }),
    ...(bio === undefined ? {} : { bio: { $literal: bio || null } }),
    ...(pronouns === undefined ? {} : { pronouns: { $literal: pronouns || null } }),
  };
  const write = () =>
    platform.accessVersions.runChange({ accounts: [actor.id] }, () =>
      platform.db.accounts.findOneAndUpdate({ _id: actor.id }, [{ $set: set }], { returnDocument: 'after' }),
    );
  const after = displayName === undefined ? await write() : await withMemberRename(platform, actor.id, write);
  const account = after ?? refuse('unauthorized', { hint: 'This account no longer exists' });
  if (displayName !== undefined) platform.wake('relay-account', { accountId: actor.id });
  return { ...toMe(account), bio: account.bio ?? null, pronouns: account.pronouns ?? null };
}

/**
 * Sets the status that others see while the account is connected, and its custom status (docs/behavior/accounts.md#presence). Missing fields stay; null and ""
 * clear the custom status. Both survive restarts. Others get the change within about a second. Returns the own account. Refuses `unavailable` while Redis is
 * unavailable: the change is stored then, but only published when it is sent again.
 */
export async function setPresence(platform: ApiPlatform, actor: Actor, { status, customStatus }: PresencePatch): Promise<Me> {
  const set = {
    ...(status === undefined ? {} : { status }),
    ...(customStatus === undefined ? {} : { customStatus: customStatus || null }),
  };
  const account = await platform.accessVersions.runChange({ accounts: [actor.id] }, () =>
    platform.db.accounts.findOneAndUpdate({ _id: actor.id }, { $set: set }, { returnDocument: 'after' }),
  );
  if (!account) return refuse('unauthorized', { hint: 'This account no longer exists' });
  await platform.markPresenceChanged(actor.id, set.customStatus !== undefined).catch(() => refuse('unavailable'));
  return toMe(account);
}

import { refuse, refuseField } from '../../base/errors.ts';
import type { LoginInput, Session } from '../../contract/auth.ts';
import type { OwnSignIn, PendingSignIn, SignInAccountInput, SignInPasswordInput } from '../../contract/sign-in.ts';
import type { Identity } from '../../outbound/openid-provider.ts';
import { isDuplicateKey } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import type { Actor } from '../members/access.ts';
import { newPerson, openSession } from './accounts.ts';
import { authenticatePerson } from './authentication.ts';
import { isFreshSignIn, refusePassword, requireOwnPassword } from './own-password.ts';
import type { Client } from './sessions.ts';
import { findIdentityOwner, readTicket, type Ticket } from './sign-ins.ts';
import { systemAccount } from './system-account.ts';

/** The valid ticket of a browser. Refuses 404 where no provider is configured, and 401 without a valid ticket. */
function requireTicket(platform: ApiPlatform, sealed: string | null): Ticket {
  if (platform.openIdProvider === null) refuse('not_found', { what: 'path' });
  const { OIDC_NAME } = platform.config;
  return (
    readTicket(platform, sealed) ?? refuse('unauthorized', { hint: `This sign-in has expired or was used. Log in with ${OIDC_NAME} again` })
  );
}

const refuseTaken = ({ OIDC_NAME }: Platform['config']): never =>
  refuse('already_linked', { reason: `This ${OIDC_NAME} account already belongs to an account here. Log in with ${OIDC_NAME}` });

/** The sign-in of a browser that belongs to no account yet. Refuses as `requireTicket` does. */
export function getPendingSignIn(platform: ApiPlatform, sealedTicket: string | null): PendingSignIn {
  const { names, expiresAt } = requireTicket(platform, sealedTicket);
  return { ...names, expiresAt: new Date(expiresAt).toISOString() };
}

/**
 * Creates an account without a password that the identity of a ticket logs in, and opens its first session. Refuses `registration_closed` with
 * `OIDC_ACCOUNTS=link`, `username_taken`, and `already_linked` if the identity belongs to an account. Unique indexes decide about both, so a ticket creates one
 * account, also by simultaneous requests. Otherwise refuses as `requireTicket`.
 */
export async function createAccountByTicket(
  platform: ApiPlatform,
  sealedTicket: string | null,
  input: SignInAccountInput,
  newId: string,
  client: Client,
): Promise<Session> {
  const { identity } = requireTicket(platform, sealedTicket);
  if (platform.config.OIDC_ACCOUNTS === 'link') refuse('registration_closed');
  if (input.username === systemAccount.username) refuse('username_taken');
  const account = { ...newPerson(platform, newId, input, null), identity: { ...identity, linkedAt: new Date(platform.now()) } };
  if (await insertNew(platform.db.accounts, account)) return openSession(platform, account, client, { isByProvider: true });
  return (await findIdentityOwner(platform, identity)) ? refuseTaken(platform.config) : refuse('username_taken');
}

/**
 * Links an identity to an account whose password hash is `passwordHash`, if the account has no other and is not suspended. One conditional write and a unique
 * index decide, so an account has one identity and an identity one account. `field` is that of the password, which may have been changed a moment ago.
 */
async function linkIdentity(
  platform: Platform,
  accountId: string,
  passwordHash: string | null,
  identity: Identity,
  field: string,
): Promise<void> {
  const { accounts } = platform.db;
  const filter = { _id: accountId, passwordHash, identity: { $exists: false }, suspendedAt: { $exists: false } };
  const set = { identity: { issuer: identity.issuer, subject: identity.subject, linkedAt: new Date(platform.now()) } };
  const { matchedCount } = await accounts.updateOne(filter, { $set: set }).catch((error: unknown) => {
    if (isDuplicateKey(error)) return refuseTaken(platform.config);
    throw error;
  });
  if (matchedCount > 0) return;
  const account = await accounts.findOne({ _id: accountId });
  if (account?.suspendedAt !== undefined) refuse('account_suspended');
  if (account?.identity) refuse('already_linked', { reason: 'Your account is already linked. Unlink it first' });
  refusePassword(field);
}

/**
 * Links the identity of a ticket to the account of a username and its password, and opens a session. Refuses as `requireTicket` and `authenticatePerson`, and
 * `already_linked` if the identity or the account is linked.
 */
export async function linkByPassword(
  platform: ApiPlatform,
  sealedTicket: string | null,
  input: LoginInput,
  client: Client,
): Promise<Session> {
  const { identity } = requireTicket(platform, sealedTicket);
  const account = await authenticatePerson(platform, input, client);
  await linkIdentity(platform, account._id, account.passwordHash, identity, '/password');
  return openSession(platform, account, client);
}

/** Links the identity of a ticket to the caller, who gives the own password. Refuses as `requireTicket` and `requireOwnPassword`, and `already_linked`. */
export async function linkOwnIdentity(
  platform: ApiPlatform,
  actor: Actor,
  sealedTicket: string | null,
  { password }: SignInPasswordInput,
  client: Client,
): Promise<void> {
  const { identity } = requireTicket(platform, sealedTicket);
  const passwordHash = await requireOwnPassword(platform, actor.id, password, client, '/password');
  await linkIdentity(platform, actor.id, passwordHash, identity, '/password');
}

/**
 * Unlinks the caller's identity. Refuses as `requireOwnPassword`, 400 for an account without a password, which nobody could log in to afterwards, and 404 for
 * an account that is not linked.
 */
export async function unlinkOwnIdentity(
  platform: Platform,
  actor: Actor,
  { password }: SignInPasswordInput,
  client: Client,
): Promise<void> {
  const passwordHash = await requireOwnPassword(platform, actor.id, password, client, '/password');
  if (passwordHash === null) refuseField('/password', 'Set a password first. Without one you could not log in any more.');
  const filter = { _id: actor.id, passwordHash, identity: { $exists: true } };
  const { matchedCount } = await platform.db.accounts.updateOne(filter, { $unset: { identity: 1 } });
  if (matchedCount === 0) refuse('not_found', { what: 'linked account' });
}

/** How the caller logs in. */
export async function getOwnSignIn(platform: Platform, actor: Actor, client: Client): Promise<OwnSignIn> {
  const [account, isFresh] = await Promise.all([
    platform.db.accounts.findOne({ _id: actor.id }),
    isFreshSignIn(platform, actor.id, client),
  ]);
  const { passwordHash = null, identity } = account ?? {};
  const linked = identity ? { issuer: identity.issuer, linkedAt: identity.linkedAt.toISOString() } : null;
  return { hasPassword: passwordHash !== null, linked, isFresh };
}

import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { LoginInput, Session } from '../../contract/auth.ts';
import type { OwnSignIn, PendingSignIn, SignInAccountInput, SignInFactorsInput } from '../../contract/sign-in.ts';
import { exists, isDuplicateKey } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { systemAccount } from '../system-account.ts';
import { newPerson, openSession } from './accounts.ts';
import { authenticatePerson } from './authentication.ts';
import { type CheckedFactors, isFreshSignIn, refusePassword, requireOwnFactors } from './own-password.ts';
import type { Client } from './sessions.ts';
import { findIdentityOwner, readTicket, type Ticket } from './sign-ins.ts';
import { requirePersonAccount } from './suspensions.ts';

const refuseTicket = ({ OIDC_NAME }: Platform['config']): never =>
  refuse('unauthorized', { hint: `This sign-in has expired or was used. Log in with ${OIDC_NAME} again` });

/** Whether the identity of a ticket was unlinked from an account since the provider confirmed it. */
const isOutdated = ({ db }: Platform, { identity: { issuer, subject }, expiresAt }: Ticket): Promise<boolean> =>
  exists(db.accounts, {
    'unlinked.issuer': issuer,
    'unlinked.subject': subject,
    'unlinked.at': { $gte: new Date(expiresAt - limits.signInTicketMs) },
  });

/** The valid ticket of a browser. Refuses 404 where no provider is configured, and 401 without a valid ticket. */
async function requireTicket(platform: ApiPlatform, sealed: string | null): Promise<Ticket> {
  if (platform.openIdProvider === null) refuse('not_found', { what: 'path' });
  const ticket = readTicket(platform, sealed);
  return ticket === null || (await isOutdated(platform, ticket)) ? refuseTicket(platform.config) : ticket;
}

const refuseTaken = ({ OIDC_NAME }: Platform['config']): never =>
  refuse('already_linked', { reason: `This ${OIDC_NAME} account already belongs to an account here. Log in with ${OIDC_NAME}` });

/** The sign-in of a browser that belongs to no account yet. Refuses as `requireTicket` does. */
export async function getPendingSignIn(platform: ApiPlatform, sealedTicket: string | null): Promise<PendingSignIn> {
  const { names, expiresAt } = await requireTicket(platform, sealedTicket);
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
  const ticket = await requireTicket(platform, sealedTicket);
  const { identity } = ticket;
  if (platform.config.OIDC_ACCOUNTS === 'link') refuse('registration_closed');
  if (input.username === systemAccount.username) refuse('username_taken');
  const account = { ...newPerson(platform, newId, input, null), identity: { ...identity, linkedAt: new Date(platform.now()) } };
  if (await insertNew(platform.db.accounts, account)) {
    if (!(await isOutdated(platform, ticket))) return openSession(platform, account, client, { isByProvider: true });
    await platform.db.accounts.deleteOne({ _id: newId }); // the identity was free because it had just been unlinked
    return refuseTicket(platform.config);
  }
  return (await findIdentityOwner(platform, identity)) ? refuseTaken(platform.config) : refuse('username_taken');
}

/**
 * Links the identity of a ticket to an account whose password and two-factor authentication are `factors`, if the account has no other and is not suspended. One
 * conditional write and a unique index decide, so an account has one identity and an identity one account. `field` is that of the password, which may have been
 * changed a moment ago.
 */
async function linkIdentity(platform: Platform, accountId: string, factors: CheckedFactors, ticket: Ticket, field: string): Promise<void> {
  const { accounts } = platform.db;
  const { identity } = ticket;
  const filter = { _id: accountId, ...factors, identity: { $exists: false }, suspendedAt: { $exists: false } };
  const set = { identity: { issuer: identity.issuer, subject: identity.subject, linkedAt: new Date(platform.now()) } };
  const { matchedCount } = await accounts.updateOne(filter, { $set: set }).catch((error: unknown) => {
    if (isDuplicateKey(error)) return refuseTaken(platform.config);
    throw error;
  });
  if (matchedCount > 0) {
    if (!(await isOutdated(platform, ticket))) return;
    await accounts.updateOne({ _id: accountId, identity: set.identity }, { $unset: { identity: 1 } }); // it was free because it had just been unlinked
    return refuseTicket(platform.config);
  }
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
  const ticket = await requireTicket(platform, sealedTicket);
  const account = await authenticatePerson(platform, input, client);
  const factors = { passwordHash: account.passwordHash, 'twoFactor.enabledAt': account.twoFactor?.enabledAt ?? null };
  await linkIdentity(platform, account._id, factors, ticket, '/password');
  return openSession(platform, account, client);
}

/**
 * Links the identity of a ticket to the caller, who gives the own password, and a code with two-factor authentication. Refuses as `requireTicket` and
 * `requireOwnFactors`, and `already_linked`.
 */
export async function linkOwnIdentity(
  platform: ApiPlatform,
  actor: Actor,
  sealedTicket: string | null,
  { password, code }: SignInFactorsInput,
  client: Client,
): Promise<void> {
  const ticket = await requireTicket(platform, sealedTicket);
  const factors = await requireOwnFactors(platform, actor.id, { password, code }, client, '/password');
  await linkIdentity(platform, actor.id, factors, ticket, '/password');
}

/** Unlinks the identity of the account that `filter` matches, and notes it, so that earlier tickets do not link it again. Returns whether there was one. */
async function unlink({ db, now }: Platform, filter: { _id: string } & Partial<CheckedFactors>): Promise<boolean> {
  const at = new Date(now());
  const set = { unlinked: { issuer: '$identity.issuer', subject: '$identity.subject', at } };
  const linked = { ...filter, 'identity.subject': { $exists: true } };
  return (await db.accounts.updateOne(linked, [{ $set: set }, { $unset: 'identity' }])).matchedCount > 0;
}

/**
 * Unlinks the caller's identity. Refuses as `requireOwnFactors`, 400 for an account without a password, which nobody could log in to afterwards, and 404 for
 * an account that is not linked.
 */
export async function unlinkOwnIdentity(
  platform: Platform,
  actor: Actor,
  { password, code }: SignInFactorsInput,
  client: Client,
): Promise<void> {
  const factors = await requireOwnFactors(platform, actor.id, { password, code }, client, '/password');
  if (factors.passwordHash === null) return refuseField('/password', 'Set a password first. Without one you could not log in any more.');
  if (!(await unlink(platform, { _id: actor.id, ...factors }))) refuse('not_found', { what: 'linked account' });
}

/** Unlinks a person's identity for an operator. Refuses as `requirePersonAccount`. */
export async function unlinkAsOperator(platform: Platform, id: string): Promise<{ account: AccountDoc; isChanged: boolean }> {
  const account = await requirePersonAccount(platform, id);
  return { account, isChanged: await unlink(platform, { _id: id }) };
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

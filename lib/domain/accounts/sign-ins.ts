import { type ErrorCode, Refusal, refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { createNewcomerQueue } from '../../base/newcomer-queue.ts';
import {
  createSignInSecrets,
  type Identity,
  SignInFailure,
  type SignInSecrets,
  type SuggestedNames,
} from '../../outbound/openid-provider.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { seal, unseal } from '../../store/seal.ts';
import { openSession } from './accounts.ts';
import type { Client } from './sessions.ts';

/** What a browser keeps from the begin of a sign-in until the provider sends it back. */
interface Flow extends SignInSecrets {
  /** A path of this installation to open afterwards. */
  returnTo: string;
  /** The person is logged in and wants to link an account of the provider. */
  isLinking: boolean;
}

/** What a browser keeps of a sign-in that belongs to no account yet. */
export interface Ticket {
  identity: Identity;
  names: SuggestedNames;
  /** In Unix milliseconds. */
  expiresAt: number;
}

/** Encrypts what a browser keeps. `use` keeps one kind of value from being used as the other. */
const sealFor = <T extends object>(platform: Platform, use: 'flow' | 'ticket', value: T, lifeMs: number): string =>
  seal(platform.config.APP_KEY, JSON.stringify({ ...value, use, expiresAt: platform.now() + lifeMs }));

/** Decrypts a result of `sealFor`. Null for anything else, and when it has expired. */
function unsealFor<T>(platform: Platform, use: 'flow' | 'ticket', sealed: string | null): (T & { expiresAt: number }) | null {
  const text = sealed === null ? null : unseal(platform.config, sealed);
  const value = text === null ? null : (JSON.parse(text) as T & { use: string; expiresAt: number });
  return value?.use === use && value.expiresAt > platform.now() ? value : null;
}

/** The ticket that a browser presents; null if it is not valid. */
export const readTicket = (platform: Platform, sealed: string | null): Ticket | null => unsealFor<Ticket>(platform, 'ticket', sealed);

/** The person to whom an identity belongs; null if there is none. */
export const findIdentityOwner = ({ db }: Platform, { issuer, subject }: Identity): Promise<AccountDoc | null> =>
  db.accounts.findOne({ 'identity.issuer': issuer, 'identity.subject': subject });

/**
 * Begins a sign-in. Returns the address of the provider, and what the browser must keep in a cookie (docs/behavior/accounts.md#sign-in-by-openid-connect).
 * Throws `SignInFailure`.
 */
export async function beginSignIn(
  platform: ApiPlatform,
  options: Pick<Flow, 'returnTo' | 'isLinking'>,
): Promise<{ url: string; flow: string }> {
  const provider = platform.openIdProvider ?? refuse('not_found', { what: 'path' });
  const secrets = createSignInSecrets();
  const url = await provider.createAuthorizationUrl(secrets);
  return { url, flow: sealFor(platform, 'flow', { ...secrets, ...options }, limits.signInMs) };
}

/** How a sign-in ended: with a session, with a ticket, or with neither. */
export type SignInOutcome = { token: string } | { ticket: string } | { failure: SignInFault };

/** Why a sign-in did not lead to a session or a ticket. */
export type SignInFault = 'expired' | SignInFailure['reason'] | Extract<ErrorCode, 'account_suspended' | 'already_linked' | 'rate_limited'>;

/** What the person is told about an error of a sign-in. Throws any other error. */
export function toSignInFault(error: unknown): SignInFault {
  if (error instanceof SignInFailure) return error.reason;
  if (error instanceof Refusal && error.code === 'account_suspended') return error.code;
  if (error instanceof Refusal && ['unauthorized', 'two_factor_required'].includes(error.code)) return 'invalid'; // the account was changed meanwhile
  throw error;
}

/** Limits how many browsers a process verifies with the provider at once. It serves first the addresses that signed in least in the last minute. */
const queueVerification = createNewcomerQueue(
  {
    maxRunning: limits.signInsAtOnce,
    maxWaiting: limits.signInsWaiting,
    maxWaitingPerAddress: limits.signInsWaitingPerAddress,
    windowMs: limits.loginWindowMs,
  },
  () => {
    throw new SignInFailure('unavailable');
  },
);

/** Suggests only a username that can be chosen: that of an e-mail address or with capital letters is shortened and lowered. */
function toSuggestion({ username, displayName }: SuggestedNames): SuggestedNames {
  const lowered = username?.toLowerCase().split('@')[0] ?? '';
  const [name = ''] = /^[^\p{C}]{1,32}/u.exec(displayName?.trim() ?? '') ?? [];
  return { username: /^[a-z0-9_.]{2,32}$/.test(lowered) ? lowered : null, displayName: name.trim() || null };
}

/** Verifies with the provider who signed in, and opens a session or makes a ticket. Throws as `toSignInFault` expects. */
async function resolveSignIn(platform: ApiPlatform, search: string, flow: Flow, client: Client): Promise<SignInOutcome> {
  const provider = platform.openIdProvider ?? refuse('not_found', { what: 'path' });
  const { identity, loadNames } = await provider.verifyCallback(search, flow);
  const owner = await findIdentityOwner(platform, identity);
  if (owner && flow.isLinking) return { failure: 'already_linked' };
  if (owner) return { token: (await openSession(platform, owner, client, { isByProvider: true })).token };
  const ticket = { identity, names: toSuggestion(await loadNames()) };
  return { ticket: sealFor(platform, 'ticket', ticket, limits.signInTicketMs) };
}

/**
 * Ends a sign-in with which the provider has sent a browser back: `search` is the query of the request, and `sealedFlow` what the browser kept. An identity that
 * belongs to an account opens a session; any other gets a ticket, with which the person creates an account or proves to own one. `returnTo` is the path of a
 * page to open afterwards.
 */
export async function endSignIn(
  platform: ApiPlatform,
  search: string,
  sealedFlow: string | null,
  client: Client,
): Promise<SignInOutcome & { returnTo: string }> {
  const flow = unsealFor<Flow>(platform, 'flow', sealedFlow);
  if (!flow) return { returnTo: '/', failure: 'expired' };
  const resolved = queueVerification(client.address, () => resolveSignIn(platform, search, flow, client));
  const outcome = await resolved.catch((error: unknown) => ({ failure: toSignInFault(error) }));
  return { ...outcome, returnTo: flow.returnTo };
}

import { Schema } from 'mongoose';
import type { MessagesChoice } from '../../../contract/account-deletion.ts';
import type { ChosenStatus } from '../../../contract/user.ts';
import { type AccountEvent, indexOutbox, type Outbox } from './outbox.ts';

/** An account: a person, the bot of an application, or the system account of the platform. `username` is unique among people. */
export interface AccountDoc extends Outbox<AccountEvent> {
  _id: string;
  kind: 'person' | 'bot' | 'system';
  username: string;
  displayName: string;
  avatarUrl: string | null;
  tag: 'official' | 'system' | 'verified_bot' | null;
  passwordHash: string | null;
  /** The application a bot belongs to. */
  applicationId: string | null;
  status: ChosenStatus;
  customStatus: string | null;
  /** The profile text and pronouns that the account has set; absent or null when it has set none. */
  bio?: string | null;
  pronouns?: string | null;
  createdAt: Date;
  /** The number of bytes in files that the account uploaded to messages; absent means 0. */
  storedBytes?: number;
  /** Whether the person joined during early access, for the badge; absent means false. */
  earlyAccess?: boolean;
  /** Since when the account is suspended, and the operator's reason, if one was given. Absent if it is not suspended. */
  suspendedAt?: Date;
  suspendedReason?: string;
  /** Two-factor authentication; absent while it is off. */
  twoFactor?: TwoFactor;
  /** The secret that the person was shown to turn two-factor authentication on with, encrypted under APP_KEY, and until when it can be confirmed. */
  twoFactorSetup?: { secret: string; expiresAt: Date };
  /** The account of the OpenID Connect provider that logs this person in, and since when. Absent if there is none. */
  identity?: { issuer: string; subject: string; linkedAt: Date };
  /** The last identity that was unlinked, and when. Sign-ins that were confirmed before that link it to no account. Absent if none was. */
  unlinked?: { issuer: string; subject: string; at: Date };
  /**
   * When the person's account will be deleted, and what happens to its messages. `begun`: the deletion has begun, so it cannot be cancelled. Absent if no deletion
   * is scheduled.
   */
  deletion?: { at: Date; messages: MessagesChoice; begun?: true };
}

/** The two-factor authentication of a person. */
export interface TwoFactor {
  /** The secret of the authenticator app, in Base32, encrypted under APP_KEY. */
  secret: string;
  enabledAt: Date;
  /** The time step of the last code of the app that was used. Only codes of later steps are valid. */
  lastStep: number;
  /** The SHA-256 of each recovery code that is left. */
  recoveryCodes: string[];
  /** How many wrong codes of the app were given, and when they are forgotten. Absent before the first one. */
  wrongCodes?: { count: number; until: Date };
}

export const accountSchema = new Schema<AccountDoc>({}, { collection: 'accounts' });
indexOutbox(accountSchema);
accountSchema.index({ username: 1 }, { unique: true, partialFilterExpression: { kind: 'person' } });
accountSchema.index(
  { 'identity.issuer': 1, 'identity.subject': 1 },
  { unique: true, partialFilterExpression: { 'identity.subject': { $exists: true } } },
);
accountSchema.index(
  { 'unlinked.issuer': 1, 'unlinked.subject': 1 },
  { partialFilterExpression: { 'unlinked.subject': { $exists: true } } },
);
accountSchema.index({ 'deletion.at': 1 }, { partialFilterExpression: { 'deletion.at': { $exists: true } } });
accountSchema.index({ tag: 1 }, { partialFilterExpression: { tag: 'verified_bot' } });
/** The index of the accounts with two-factor authentication, whose secrets are encrypted again when the key is replaced. */
export const twoFactorIndex = 'twoFactor';
accountSchema.index({ kind: 1, _id: 1 }, { name: twoFactorIndex, partialFilterExpression: { 'twoFactor.secret': { $exists: true } } });

/**
 * A credential: the token of a bot or a login session of a person. Only the SHA-256 of the whole token is stored. The `_id` of a bot's token is the bot's
 * account id, so a bot has only one token at any time and a reset is one write.
 */
export interface TokenDoc {
  _id: string;
  accountId: string;
  kind: 'bot' | 'session';
  hash: string;
  createdAt: Date;
  /** When the session expires; null for bots. */
  expiresAt: Date | null;
  /** Slot among the person's sessions, 0-49. The unique index on it enforces the limit of 50. Absent for bots. */
  slot?: number;
  /** When the session was last used, with an accuracy of some minutes, and from which IP address. Absent for bots. */
  lastUsedAt?: Date;
  address?: string;
  /** A readable name of the session's device, such as `Firefox on Windows`. Absent for bots. */
  device?: string;
  /** Whether the OpenID Connect provider confirmed who opened the session, as it was opened. Absent if not. */
  isByProvider?: true;
}

export const tokenSchema = new Schema<TokenDoc>({}, { collection: 'tokens' });
tokenSchema.index({ accountId: 1 });
tokenSchema.index({ accountId: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $exists: true } } });
tokenSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** An application and its settings. `signingSecret` is encrypted under APP_KEY. */
export interface ApplicationDoc {
  _id: string;
  ownerId: string;
  botId: string;
  name: string;
  description: string;
  iconUrl: string | null;
  public: boolean;
  inDirectory: boolean;
  interactionsEndpointUrl: string | null;
  signingSecret: string;
  /** The number of servers that its bot is in. Approximate until the next recount; absent means 0. */
  serverCount?: number;
  /** Since when a recount of its servers is pending, because its bot was added to or removed from one. Absent when none is pending. */
  recountAt?: Date;
  /** The text that the App Directory searches: name and description, normalized by `foldSearch`. Each is written together with its original. */
  search?: { name?: string; description?: string };
  /** Slot among the owner's applications, 0-49. The unique index on it enforces the limit of 50. */
  slot: number;
  createdAt: Date;
}

export const applicationSchema = new Schema<ApplicationDoc>({}, { collection: 'applications' });
applicationSchema.index({ ownerId: 1, slot: 1 }, { unique: true });
applicationSchema.index({ botId: 1 }, { unique: true });
applicationSchema.index({ inDirectory: 1 }, { partialFilterExpression: { inDirectory: true } });
applicationSchema.index({ recountAt: 1 }, { partialFilterExpression: { recountAt: { $exists: true } } });

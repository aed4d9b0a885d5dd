import { Schema } from 'mongoose';
import type { ChosenStatus } from '../../contract/user.ts';
import { indexOutbox, type Outbox } from './outbox.ts';

/** A person, the bot of an application, or the one account of the platform itself. `username` is unique among people. */
export interface AccountDoc extends Outbox {
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
  /** What the account says about itself; absent or null is nothing. */
  bio?: string | null;
  pronouns?: string | null;
  createdAt: Date;
  /** Bytes of the files in messages that the account uploaded; absent is none. */
  storedBytes?: number;
  /** Whether the person joined during early access, for the badge; absent is no. */
  earlyAccess?: boolean;
}

export const accountSchema = new Schema<AccountDoc>(
  {
    _id: String,
    kind: String,
    username: String,
    displayName: String,
    avatarUrl: String,
    tag: String,
    passwordHash: String,
    applicationId: String,
    status: String,
    customStatus: String,
    bio: String,
    pronouns: String,
    createdAt: Date,
    storedBytes: Number,
    earlyAccess: Boolean,
  },
  { collection: 'accounts', versionKey: false, minimize: false },
);
indexOutbox(accountSchema);
accountSchema.index({ username: 1 }, { unique: true, partialFilterExpression: { kind: 'person' } });
accountSchema.index({ tag: 1 }, { partialFilterExpression: { tag: 'verified_bot' } });

/**
 * A credential: a bot's token or a session of a person. Only the SHA-256 of the whole token is kept. A bot's `_id` is its account's id, so that a bot has
 * one token at any time and a reset is one write.
 */
export interface TokenDoc {
  _id: string;
  accountId: string;
  kind: 'bot' | 'session';
  hash: string;
  createdAt: Date;
  /** When a session ends; null for bots. */
  expiresAt: Date | null;
  /** Place among a person's sessions, 0-49: the unique index on it is the cap of 50. Absent for bots. */
  slot?: number;
  /** When a session was last used, to within some minutes, and from which address. Absent for bots. */
  lastUsedAt?: Date;
  address?: string;
  /** What a session is used with, in plain words, such as `Firefox on Windows`. Absent for bots. */
  device?: string;
}

export const tokenSchema = new Schema<TokenDoc>(
  {
    _id: String,
    accountId: String,
    kind: String,
    hash: String,
    createdAt: Date,
    expiresAt: Date,
    slot: Number,
    lastUsedAt: Date,
    address: String,
    device: String,
  },
  { collection: 'tokens', versionKey: false },
);
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
  /** In how many servers its bot is; near the truth until the recount has been. Absent is none. */
  serverCount?: number;
  /** Since when its servers are to be counted again; absent when its bot was added or removed nowhere. */
  recountAt?: Date;
  /** What the App Directory searches: name and description as `folded` makes them. Each is written with what it is made of. */
  search?: { name?: string; description?: string };
  /** Place among the owner's applications, 0-49: the unique index on it is the cap of 50. */
  slot: number;
  createdAt: Date;
}

export const applicationSchema = new Schema<ApplicationDoc>(
  {
    _id: String,
    ownerId: String,
    botId: String,
    name: String,
    description: String,
    iconUrl: String,
    public: Boolean,
    inDirectory: Boolean,
    interactionsEndpointUrl: String,
    signingSecret: String,
    serverCount: Number,
    recountAt: Date,
    search: { name: String, description: String },
    slot: Number,
    createdAt: Date,
  },
  { collection: 'applications', versionKey: false },
);
applicationSchema.index({ ownerId: 1, slot: 1 }, { unique: true });
applicationSchema.index({ botId: 1 }, { unique: true });
applicationSchema.index({ inDirectory: 1 }, { partialFilterExpression: { inDirectory: true } });
applicationSchema.index({ recountAt: 1 }, { partialFilterExpression: { recountAt: { $exists: true } } });

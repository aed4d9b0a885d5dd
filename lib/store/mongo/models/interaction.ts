import { Schema } from 'mongoose';
import type { Command } from '../../../contract/command.ts';
import type { EndpointDelivery } from '../../../contract/endpoint.ts';
import type { InteractionState, OptionValue } from '../../../contract/interaction.ts';
import type { MessageDraft } from './message.ts';
import { type InteractionEvent, indexOutbox, type Outbox } from './outbox.ts';

/**
 * The commands of an application in one scope. One document holds them all, so that a PUT replaces them atomically. `_id` is `<applicationId>:<serverId or
 * all>`.
 */
export interface CommandsDoc {
  _id: string;
  applicationId: string;
  /** null: the commands apply everywhere the bot is. */
  serverId: string | null;
  commands: Command[];
}

export const commandsSchema = new Schema<CommandsDoc>({}, { collection: 'commands' });
commandsSchema.index({ applicationId: 1 });
commandsSchema.index({ 'commands.id': 1 });
commandsSchema.index({ serverId: 1, applicationId: 1 });

/** An ephemeral answer, encrypted, because it is not stored as a message. `revision` counts its edits. */
export interface SealedAnswer {
  sealed: string;
  revision: number;
}

/** A use of a slash command (docs/behavior/interactions.md#states). All times are from the database's clock. */
export interface InteractionDoc extends Outbox<InteractionEvent> {
  _id: string;
  applicationId: string;
  botId: string;
  channelId: string;
  serverId: string | null;
  userId: string;
  /** The person's roles at the moment of use. */
  userRoles: string[];
  command: { id: string; name: string };
  options: OptionValue[];
  state: InteractionState;
  createdAt: Date;
  /** When it was answered or deferred. Follow-ups are accepted for 15 minutes after that. */
  openedAt: Date | null;
  /** Whether the defer asked for an ephemeral answer. */
  ephemeral: boolean;
  /** The message of the first answer; null until it is stored, and if it is ephemeral. */
  messageId: string | null;
  /** An accepted answer whose message may not be stored yet; removed once it is. */
  answer?: MessageDraft | null;
  /** The first answer, if it is ephemeral and not deleted. */
  ephemeralAnswer?: SealedAnswer;
  /** Whether it goes to the application's Interactions Endpoint instead of the gateway. Decided when the command is used. */
  endpoint: boolean;
  /** When it was claimed for its only request to the endpoint; null before. */
  deliveredAt: Date | null;
  /** The result of that request, once it is known. */
  delivery?: Pick<EndpointDelivery, 'status' | 'ms' | 'outcome' | 'reason'>;
}

export const interactionSchema = new Schema<InteractionDoc>({}, { collection: 'interactions', shardKey: { _id: 'hashed' } });
interactionSchema.index({ createdAt: 1 }, { name: 'unanswered', partialFilterExpression: { state: 'created' } });
interactionSchema.index({ createdAt: 1 }, { name: 'kept_7_days', expireAfterSeconds: 7 * 24 * 3600 });
/**
 * The index that the delivery log reads from, newest first. Its query names it, so that the query planner uses no other one for applications with many entries.
 */
export const deliveriesIndex = 'deliveries';
interactionSchema.index({ applicationId: 1, _id: -1 }, { name: deliveriesIndex, partialFilterExpression: { endpoint: true } });
indexOutbox(interactionSchema);

/** The claim of an Idempotency-Key (docs/behavior/requests.md#idempotency). `_id` is the SHA-256 of `<caller>:<method and path>:<key>`. */
export interface IdempotencyDoc {
  _id: string;
  /** The SHA-256 of the body's fields. */
  bodyHash: string;
  /** The id that the resource has or will have. */
  resourceId: string;
  /** The id of the attempt that holds the claim. */
  holder: string;
  claimedAt: Date;
  /** The first response, once there is one; encrypted if it contains a secret. */
  answer: { status: number; body: string; sealed: boolean } | null;
  expiresAt: Date;
}

export const idempotencySchema = new Schema<IdempotencyDoc>({}, { collection: 'idempotency', shardKey: { _id: 'hashed' } });
idempotencySchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

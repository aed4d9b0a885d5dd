import type { TSchema } from 'typebox';
import type { Permission } from '../base/permissions.ts';

/** The declaration of an event. */
export interface EventDefinition {
  /** What the event says, as a sentence for developers. */
  summary: string;
  /** The schema of the payload: a named one, so that it is a component of the API's documents. */
  data: TSchema;
  /**
   * The log that keeps the event for resumes: the server's or the account's. `channel`: the log of the channel's server, or those of both accounts of a DM.
   * null: no log, so sessions that are not connected miss the event.
   */
  place: 'server' | 'account' | 'channel' | null;
  /**
   * The recipients. `channel`: everyone who may view the channel. `members`: all members of a server of up to 1,000; in a larger server the member concerned,
   * members with Manage Server, Manage Roles, Kick Members or Ban Members, sessions that watch the account, and bots that asked for the event. `server`: all
   * members. `account`: all sessions of the account. `session`: one of them. `custom`: see PRESENCE_UPDATE and USER_UPDATE at `events`.
   */
  audience: 'channel' | 'members' | 'server' | 'account' | 'session' | 'custom';
  /** The permission that a recipient needs, unless the audience implies it, as `channel` implies View Channel. */
  permission?: Permission;
  /** Whether a bot receives the event if, and only if, it asks for it in identify. If false, see `botEvents`. */
  optIn: boolean;
  /** `start`: the event announces a new object. `end`: the object is gone. Pending events of an object that was never announced are not sent. */
  lifecycle?: 'start' | 'end';
  /** The payload is the state of the object when the event is sent. Of several such pending events of one object, only the last is sent. */
  coalesce?: true;
  /** The metric of delivery times includes the event. */
  isTimed?: true;
  /** The gateway adds the interaction's token, which is not stored. */
  hasToken?: true;
}

/** Declares an event. The type of its payload is kept. */
export const defineEvent = <S extends TSchema>(definition: EventDefinition & { data: S }): EventDefinition & { data: S } => definition;

import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Id, Name, Nullable, Permissions, Timestamp } from './shared.ts';
import { Author } from './user.ts';

/**
 * An application as its owner sees it (docs/behavior/accounts.md#application-fields). `signingSecret` is null if it can no longer be decrypted because the
 * server's key was replaced. The owner can then reset it.
 */
export const Application = Type.Object({
  id: Id,
  name: Type.String(),
  description: Type.String(),
  iconUrl: Nullable(Type.String()),
  public: Type.Boolean(),
  inDirectory: Type.Boolean(),
  interactionsEndpointUrl: Nullable(Type.String()),
  bot: Author,
  signingSecret: Nullable(Type.String()),
  createdAt: Timestamp,
});
export type Application = Static<typeof Application>;

/** `POST /api/applications` 201: the application with the bot's token. The token is shown only in this response and after a reset. */
export const NewApplication = Type.Object({ ...Application.properties, signingSecret: Type.String(), token: Type.String() });
export type NewApplication = Static<typeof NewApplication>;

/** `POST /api/applications`. */
export const ApplicationInput = Type.Object({ name: Name(32), description: Type.Optional(Type.String({ maxLength: 300 })) });
export type ApplicationInput = Static<typeof ApplicationInput>;

/** `PATCH /api/applications/{id}`. Omitted fields do not change. An `interactionsEndpointUrl` is pinged before it is saved; null removes it. */
export const ApplicationPatch = Type.Object({
  name: Type.Optional(Name(32)),
  description: Type.Optional(Type.String({ maxLength: 300 })),
  public: Type.Optional(Type.Boolean()),
  inDirectory: Type.Optional(Type.Boolean()),
  interactionsEndpointUrl: Type.Optional(Nullable(Type.String({ maxLength: limits.endpointUrlChars }))),
});
export type ApplicationPatch = Static<typeof ApplicationPatch>;

/** `POST /api/applications/{id}/authorize`. */
export const AuthorizeInput = Type.Object({ serverId: Id, permissions: Type.Optional(Permissions) });
export type AuthorizeInput = Static<typeof AuthorizeInput>;

/** The result of adding a bot to a server (docs/behavior/servers.md#bots). */
export const BotAuthorization = Type.Object({ applicationId: Id, serverId: Id, roleId: Id, permissions: Permissions });
export type BotAuthorization = Static<typeof BotAuthorization>;

export { Client, type ClientEvents, type ClientOptions } from './client.ts';
export type {
  CommandDefinition,
  CommandHandler,
  OptionDefinition,
  OptionDefinitions,
  OptionsOf,
  OptionValues,
  PrefixUse,
} from './commands.ts';
export type { Listener } from './emitter.ts';
export { createEndpoint, type Endpoint, type EndpointOptions } from './endpoint.ts';
export { ApiError, ConnectionError, type FieldFault, GatewayError } from './errors.ts';
export { type FileInput, openFile } from './files.ts';
export * from './generated/api.ts';
export type { GatewayEvents } from './generated/events.ts';
export { permissionBits } from './generated/permissions.ts';
export type * from './generated/types.ts';
export type { Interaction as RawInteraction } from './generated/types.ts';
export { Interaction, type Reply, type ReplyEdit } from './interaction.ts';
export { computePermissions, hasPermissions, type PermissionName, toPermissionBits, toPermissionNames } from './permissions.ts';
export type { RequestOptions, UploadOptions } from './rest.ts';
export type { GatewayReady, Session } from './session.ts';
export { verifyRequest } from './verify.ts';

import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Described, ObjectOf } from './schemas.ts';
import { IdOf, Name, Nullable, Permissions, PictureUrl, Timestamp } from './shared.ts';
import { Author } from './user.ts';

const signingSecretExample = 'Zk3vEjRWeJq8dFZ4mrzeAAECAwQFBgcICQoLDA0ODw8';
const token = Type.String({
  description: 'The token of the bot. It is secret, does not expire, and is shown only in this response.',
  examples: ['1431655765432101011.q83vEjRWeJq8dFZ4mrzeAAECAwQFBgcICQoLDA0ODw8'],
});
const signingSecret = Type.String({
  description: 'The secret that signs the requests to the Interactions Endpoint.',
  examples: [signingSecretExample],
});
const description = Type.String({
  maxLength: 300,
  characters: 'text',
  description: 'What the application does, up to 300 characters. Line breaks are allowed. Default: empty.',
  examples: ['Rolls dice.'],
});
const name = Described(
  Name(32),
  'The name of the application: one line of 1 to 32 characters. It is also the username of the bot and the name of its role.',
  'Dice',
);
const isPublic = Type.Boolean({ description: 'Whether everyone can add the bot to a server. Default: false.', examples: [true] });
const inDirectory = Type.Boolean({
  description: 'Whether the App Directory lists the application. Only a public application can be listed. Default: false.',
});

/**
 * An application as its owner sees it (docs/behavior/accounts.md#application-fields). `signingSecret` is null if it can no longer be decrypted because the
 * server's key was replaced. The owner can then reset it.
 */
export const Application = ObjectOf(
  {
    id: IdOf('application', 'The id of the application, and of the account of its bot.'),
    name: Type.String({ description: 'The name of the application, of its bot, and of the role of the bot.', examples: ['Dice'] }),
    description: Type.String({ description: 'What the application does. It may be empty.', examples: ['Rolls dice.'] }),
    iconUrl: PictureUrl('The address of the icon; null if there is none.'),
    public: isPublic,
    inDirectory,
    interactionsEndpointUrl: Described(
      Nullable(Type.String()),
      'The address that gets the interactions as HTTPS requests; null if they go over the gateway.',
      'https://dice.example.org/interactions',
    ),
    bot: Described(Author, 'The account of the bot.'),
    signingSecret: Nullable(
      signingSecret,
      'The secret that signs the requests to the Interactions Endpoint; null if it can no longer be decrypted and must be reset.',
    ),
    createdAt: Described(Timestamp, 'When the application was created.'),
  },
  'An application as its owner sees it.',
);
export type Application = Static<typeof Application>;

/** `POST /api/applications` 201: the application with the bot's token. The token is shown only in this response and after a reset. */
export const NewApplication = ObjectOf(
  { ...Application.properties, signingSecret, token },
  'A new application with the token of its bot.',
  { interactionsEndpointUrl: null },
);
export type NewApplication = Static<typeof NewApplication>;

/** `POST /api/applications/{id}/token` 200. */
export const BotToken = ObjectOf({ token }, 'A new token of the bot. The old one stops working at once.');

/** `POST /api/applications/{id}/signing-secret` 200. */
export const SigningSecret = ObjectOf({ signingSecret }, 'A new signing secret. It signs from the next request on.');

/** `POST /api/applications`. */
export const ApplicationInput = ObjectOf({ name, description: Type.Optional(description) }, 'Creates an application and its bot.');
export type ApplicationInput = Static<typeof ApplicationInput>;

/** `PATCH /api/applications/{id}`. Omitted fields do not change. An `interactionsEndpointUrl` is pinged before it is saved; null removes it. */
export const ApplicationPatch = ObjectOf(
  {
    name: Type.Optional(name),
    description: Type.Optional(Described(description, 'What the application does, up to 300 characters. Line breaks are allowed.')),
    public: Type.Optional(
      Described(isPublic, 'Whether everyone can add the bot to a server. false also takes the application out of the App Directory.'),
    ),
    inDirectory: Type.Optional(
      Described(inDirectory, 'Whether the App Directory lists the application. Only a public application can be listed.', true),
    ),
    interactionsEndpointUrl: Type.Optional(
      Described(
        Nullable(Type.String({ maxLength: limits.endpointUrlChars })),
        'The https address that shall get the interactions, up to 2,048 characters. It is pinged before it is saved. null removes it.',
        'https://dice.example.org/interactions',
      ),
    ),
  },
  'A change of an application. Omitted fields do not change.',
);
export type ApplicationPatch = Static<typeof ApplicationPatch>;

/** `POST /api/applications/{id}/authorize`. */
export const AuthorizeInput = ObjectOf(
  {
    serverId: IdOf('server', 'The server that the bot is added to. The caller needs Manage Server there.'),
    permissions: Type.Optional(
      Described(Permissions, 'The permissions that the role of the bot shall have, as the sum of their bits. Default: 0, none.', 3),
    ),
  },
  'Adds the bot of an application to a server.',
);
export type AuthorizeInput = Static<typeof AuthorizeInput>;

/** The result of adding a bot to a server (docs/behavior/servers.md#bots). */
export const BotAuthorization = ObjectOf(
  {
    applicationId: IdOf('application', 'The application whose bot was added.'),
    serverId: IdOf('server', 'The server that the bot is in.'),
    roleId: IdOf('role', 'The role that only this bot has in the server.'),
    permissions: Described(Permissions, 'The permissions of that role: the requested ones, as far as the caller has them.', 3),
  },
  'A bot in a server, with its own role.',
);
export type BotAuthorization = Static<typeof BotAuthorization>;

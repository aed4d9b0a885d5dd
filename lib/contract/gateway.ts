import { type Static, type TSchema, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { botEvents, events, optInEvents } from './events.ts';
import { ObjectOf } from './schemas.ts';
import { Id, IdOf } from './shared.ts';
import { PublicUser } from './user.ts';

/** A position in the events of a session, opaque to clients (docs/delivery.md#connecting). */
export const Position = Type.String({
  maxLength: limits.gatewayPositionChars,
  description: `A position in the events of a session: opaque text of at most ${limits.gatewayPositionChars} characters. Keep the last one; do not parse or compare it.`,
  examples: ['1099511627791'],
});

const Token = Type.String({
  description: 'The token of a bot, with or without `Bot ` before it, or the session token of a person, with or without `Bearer `.',
  examples: ['<token>'],
});
const SessionId = Type.String({ description: 'The id of the session. A resume names it.', examples: ['wq2bLzYhU0PZ3eRk'] });

/** `d` of a heartbeat. */
export const Heartbeat = Type.Union([Position, Type.Null()], {
  description: 'The last `s` that the client received, or null before the first one.',
  examples: ['1099511627791', null],
});

/** `d` of an identify. */
export const Identify = ObjectOf(
  {
    token: Type.Optional(Token),
    events: Type.Optional(
      Type.Array(Type.Enum([...botEvents, ...optInEvents]), {
        description: `The events that a bot asks for, beyond ${botEvents.join(' and ')}, which every bot receives. The sessions of people receive all events.`,
        examples: [['MESSAGE_UPDATE', 'MESSAGE_DELETE']],
      }),
    ),
  },
  'Begins a session. A web page leaves `token` out: the gateway then takes the session cookie, if the `Origin` is Parlance’s own.',
);

/** `d` of a resume. */
export const Resume = ObjectOf(
  { token: Type.Optional(Token), sessionId: SessionId, seq: Position },
  'Continues a session after `seq`, the last `s` that the client received.',
);

/** `d` of a watch frame of a client. */
export const Watch = ObjectOf(
  {
    watch: Type.Array(Id, {
      maxItems: limits.accountsWatched,
      description: `The ids of at most ${limits.accountsWatched} accounts. The list replaces the one before.`,
    }),
  },
  'The accounts whose presence the session receives. The list ends with the socket.',
);

/** `d` of a watch frame of the gateway. */
export const WatchAnswer = ObjectOf(
  { offline: Type.Array(Id, { description: 'The ids of the newly watched accounts that are offline.' }) },
  'The answer to a watch frame, after a PRESENCE_UPDATE for each newly watched account that is not offline. Accounts that the session may not see are left out.',
);

/** `d` of a reconnect frame. */
export const Reconnect = ObjectOf(
  {
    retryAfterMs: Type.Integer({
      minimum: 0,
      description: 'How long to wait before the client connects again, in milliseconds.',
      examples: [166],
    }),
  },
  'The gateway node stops. It then closes the socket with 1012.',
);

/** `d` of an invalid session. */
export const InvalidSession = ObjectOf(
  {
    resumable: Type.Literal(false, { description: 'Always false: the session cannot be resumed.' }),
    reason: Type.String({ description: 'Why, for people. May change.', examples: ['The session does not exist.'] }),
  },
  'The session is over. Discard its id and position, identify, and load the state again.',
);

/** `d` of the first frame of each socket. */
export const Hello = ObjectOf(
  {
    heartbeatIntervalMs: Type.Integer({
      minimum: 1,
      description: 'How often the client sends a heartbeat, in milliseconds.',
      examples: [30_000],
    }),
  },
  'The first frame on every socket.',
);

/** `d` of the answer to a heartbeat. */
export const HeartbeatAck = Type.Null({ description: 'Has no data.' });

/** The payload of READY. */
export const Ready = ObjectOf(
  {
    v: Type.Literal(1, { description: 'The version of the protocol.' }),
    user: PublicUser,
    sessionId: SessionId,
    resumeUrl: Type.String({ description: 'The address to connect to for a resume.', examples: ['wss://chat.example.org/gateway'] }),
    applicationId: Type.Optional(IdOf('application', 'The application of the bot; absent for people.')),
    servers: Type.Array(Id, { description: 'The ids of the account’s servers.' }),
    events: Type.Array(Type.Enum(Object.keys(events)), {
      description: 'The names of the events that the session receives, sorted.',
      examples: [['INTERACTION_CREATE', 'MESSAGE_CREATE', 'MESSAGE_DELETE', 'MESSAGE_UPDATE']],
    }),
  },
  'A new session has begun.',
);

/** The payload of RESUMED. */
export const Resumed = ObjectOf(
  { replayed: Type.Integer({ minimum: 0, description: 'The number of missed events that were sent before this frame.', examples: [14] }) },
  'The session continues. New events follow.',
);

/** The schemas of the dispatches about a client's own session, which are not events (docs/delivery.md#connecting). */
export const sessionDispatches = { READY: Ready, RESUMED: Resumed } as const;

/** The payloads of the dispatches about a client's own session. */
export type SessionData = { [N in keyof typeof sessionDispatches]: Static<(typeof sessionDispatches)[N]> };

/** The declaration of an opcode: its number, what it means, and the schemas of `d` of the frames that a client and the gateway send with it. */
interface OpcodeDefinition {
  code: number;
  summary: string;
  fromClient?: TSchema;
  fromGateway?: TSchema;
}

/** Every opcode (docs/delivery.md#opcodes). The data of a dispatch depends on its name. */
export const opcodes = {
  dispatch: { code: 0, summary: 'An event, READY or RESUMED. Store `s`, then handle the event.' },
  heartbeat: {
    code: 1,
    summary: 'Sent every `heartbeatIntervalMs`. The gateway closes a socket without a heartbeat for 1.5 intervals.',
    fromClient: Heartbeat,
  },
  identify: { code: 2, summary: 'Begins a session, after hello. The gateway answers with READY.', fromClient: Identify },
  watch: {
    code: 3,
    summary: 'The client names the accounts whose presence it wants. The gateway answers with those that are offline.',
    fromClient: Watch,
    fromGateway: WatchAnswer,
  },
  resume: {
    code: 6,
    summary: 'Continues a session on a new socket, after hello. The gateway answers with the missed events and RESUMED, or with invalid.',
    fromClient: Resume,
  },
  reconnect: {
    code: 7,
    summary: 'The gateway node stops. Wait for `retryAfterMs`, then connect again and resume.',
    fromGateway: Reconnect,
  },
  invalid: { code: 9, summary: 'The session is over. Discard it and identify.', fromGateway: InvalidSession },
  hello: { code: 10, summary: 'The first frame on every socket. Start the heartbeat, then identify or resume.', fromGateway: Hello },
  ack: {
    code: 11,
    summary: 'The answer to each heartbeat. If none came since the last heartbeat, the connection is dead: close it and resume.',
    fromGateway: HeartbeatAck,
  },
} as const satisfies Record<string, OpcodeDefinition>;

/** The name of an opcode. */
export type OpcodeName = keyof typeof opcodes;

/** The declaration of an opcode, in its general form. */
export const getOpcode = (name: OpcodeName): OpcodeDefinition => opcodes[name];

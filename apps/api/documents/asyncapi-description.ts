import { limits } from '../../../lib/base/limits.ts';
import { closeCodes } from '../../../lib/contract/close-codes.ts';
import type { EventDefinition } from '../../../lib/contract/event-definition.ts';
import { botEvents, type EventName, getEventDefinition, optInEvents } from '../../../lib/contract/events.ts';

/** Who receives an event, as a sentence. */
const recipients: Record<Exclude<EventDefinition['audience'], 'custom'>, string> = {
  channel: 'Everyone who can view the channel receives it.',
  members: `In a server of up to ${limits.memberEventsToAllMembers} members, all of them receive it. In a larger one: the member itself, members with Manage Server, Manage Roles, Kick Members or Ban Members, sessions that watch the member, and bots that asked for the event.`,
  server: 'All members of the server receive it.',
  account: 'All sessions of the account receive it.',
  session: 'One session receives it: the newest connected one of the bot.',
};

/** Who receives the events whose audience is `custom`, as a sentence. */
const customRecipients: Partial<Record<EventName, string>> = {
  PRESENCE_UPDATE: `Sessions that watch the account (op 3) receive it, and bots that asked for it in servers of up to ${limits.presencesToBotsMembers} members.`,
  USER_UPDATE: 'Everyone who shares a server or a direct message channel with the account receives it, and the account’s own sessions.',
};

const logs: Record<'channel' | 'server' | 'account' | 'none', string> = {
  channel: 'A resume sends it if it was missed.',
  server: 'A resume sends it if it was missed.',
  account: 'A resume sends it if it was missed.',
  none: 'It is not kept: a session that is not connected misses it.',
};

/** How a bot gets an event: always, on request, or never. */
export const toBotRule = (name: EventName): 'always' | 'on request' | 'never' =>
  botEvents.includes(name) ? 'always' : optInEvents.includes(name) ? 'on request' : 'never';

const botRules: Record<ReturnType<typeof toBotRule>, string> = {
  always: 'Every bot receives it without asking.',
  'on request': 'A bot asks for it in `events` of identify.',
  never: 'Bots do not receive it.',
};

/** The permission that a recipient of the event needs; null if it needs none. */
export const toPermission = (name: EventName): string | null => {
  const { audience, permission } = getEventDefinition(name);
  return permission ?? (audience === 'channel' ? 'View Channel' : null);
};

/** Describes who receives an event, with which permission, and whether it is kept. */
export function describeEvent(name: EventName): string {
  const { audience, place, coalesce } = getEventDefinition(name);
  const permission = toPermission(name);
  return [
    audience === 'custom' ? (customRecipients[name] ?? '') : recipients[audience],
    permission
      ? `Needs the permission ${permission} in the channel; participants of a direct message channel have it.`
      : 'Needs no permission.',
    botRules[toBotRule(name)],
    logs[place ?? 'none'],
    ...(coalesce ? ['The payload is the state when the event is sent, so one event may stand for several changes.'] : []),
  ].join(' ');
}

const reconnectTexts = { resume: 'Resume, or identify if there is no session.', identify: 'Identify.', no: 'Do not reconnect.' };

/** The table of close codes in Markdown. */
const closeCodeTable = [
  '| Code | Cause | Reconnect | What to do |',
  '|---|---|---|---|',
  ...Object.values(closeCodes).map(
    ({ code, cause, reconnect, advice }) => `| ${code} | ${cause} | ${reconnectTexts[reconnect]} | ${advice} |`,
  ),
].join('\n');

/** The description of the gateway: how a session begins, continues and ends. */
export const gatewayDescription = `The gateway sends events over a WebSocket. Each frame is one JSON object in a text message: \`op\` is the opcode and \`d\` the data. Frames of op 0 also have the name \`t\` of the event and the position \`s\`. Ignore opcodes, events and fields that you do not know.

## Handshake

1. \`GET /api/gateway\` returns the address. Connect to it with the query \`v=1\`. The gateway sends hello (op 10).
2. Send a heartbeat (op 1) every \`heartbeatIntervalMs\`.
3. Send identify (op 2) within ${limits.gatewayIdentifyMs / 1000} seconds. The gateway answers with \`READY\`.

## Heartbeat

\`d\` of a heartbeat is the last \`s\` that you received, or null. The gateway answers with op 11, and closes a socket that sends no heartbeat for 1.5 intervals. If no op 11 came since your last heartbeat, the connection is dead: close it and resume.

## Resume

A session can be resumed for ${limits.resumeWindowMs / 60_000} minutes after its socket was lost. Connect to \`resumeUrl\` of \`READY\`, wait for hello, and send resume (op 6) with the last \`s\`. The gateway sends the missed events in order, then \`RESUMED\`, then new events. If the session cannot continue, it sends op 9: discard the session, identify, and load the state again with \`GET /api/users/@me/sync\`.

Wait before each new connection: a random time between 0 and \`min(60 s, 1 s · 2^n)\`, where \`n\` counts the failures in a row. After op 7 wait for its \`retryAfterMs\` instead. A client that closes with 1000 or 1001 ends its session; to resume later, close with another code, for example 4000.

## Presence

A client names with op 3 at most ${limits.accountsWatched} accounts whose presence it wants. The gateway answers with a \`PRESENCE_UPDATE\` for each new one that is not offline, then with the list of those that are. Send the list again after \`READY\` and \`RESUMED\`.

## Close codes

${closeCodeTable}

Any other code, also 1006 (the connection broke), 1008 (a frame had too many fragments) and 1009 (a frame was too large): resume. The close reason says in a sentence what was wrong.

## Limits

A client sends at most ${limits.gatewayFramesPerMinute} frames and ${limits.gatewayBytesPerMinute / 1024} KiB in 60 seconds, each frame at most ${limits.gatewayFrameBytes / 1024} KiB; before \`READY\` or \`RESUMED\` at most ${limits.gatewayFramesUnidentified} frames and ${limits.gatewayBytesUnidentified / 1024} KiB. An account has at most ${limits.gatewaySessionsPerAccount} sessions; another one ends the one that was disconnected longest, then the oldest.`;

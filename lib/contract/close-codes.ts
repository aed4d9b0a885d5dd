import { formatMib, limits } from '../base/limits.ts';

/**
 * The declaration of a close code: its number, its cause and what the client does. `reconnect`: `resume` the session, or identify if there is none; `identify`
 * without the session; or `no`: another attempt would fail in the same way.
 */
interface CloseCodeDefinition {
  code: number;
  cause: string;
  advice: string;
  reconnect: 'resume' | 'identify' | 'no';
}

/** Every code with which the gateway closes a socket (docs/delivery.md#close-codes). */
export const closeCodes = {
  restart: { code: 1012, cause: 'The gateway node stops.', advice: 'Resume, after `retryAfterMs` of op 7.', reconnect: 'resume' },
  unavailable: {
    code: 1013,
    cause: 'A store does not answer, so the session could not begin or continue.',
    advice: 'Try the same again, with backoff.',
    reconnect: 'resume',
  },
  lost: {
    code: 4000,
    cause: 'Another socket has taken over the session, it was ended, or it cannot continue (op 9 came before).',
    advice: 'Resume if your own code did not open the other socket. After op 9: identify.',
    reconnect: 'resume',
  },
  unknownOp: { code: 4001, cause: 'Unknown opcode.', advice: 'Fix the client, then resume.', reconnect: 'resume' },
  badFrame: {
    code: 4002,
    cause:
      'The message was not text, not a JSON object, or had no `op`; or `events` of op 2 is not a list of events that bots can ask for.',
    advice: 'Stop and fix the client: it would send the same again. The close reason names the fault.',
    reconnect: 'no',
  },
  notIdentified: {
    code: 4003,
    cause: `Not identified or resumed within ${limits.gatewayIdentifyMs / 1000} s, or op 3 before \`READY\` or \`RESUMED\`.`,
    advice: 'Resume if you have a session, else identify.',
    reconnect: 'resume',
  },
  badToken: {
    code: 4004,
    cause: 'The token is missing, not valid, or no longer valid.',
    advice: 'Stop. With a new token of the same account, resume.',
    reconnect: 'no',
  },
  alreadyIdentified: {
    code: 4005,
    cause: 'Second identify or resume on one socket.',
    advice: 'Fix the client, then resume.',
    reconnect: 'resume',
  },
  badWatch: {
    code: 4006,
    cause: `\`watch\` is not a list of at most ${limits.accountsWatched} ids.`,
    advice: 'Fix the client, then resume.',
    reconnect: 'resume',
  },
  badSeq: {
    code: 4007,
    cause: '`d` of a heartbeat or `seq` of a resume is not a position.',
    advice: 'Identify.',
    reconnect: 'identify',
  },
  tooFast: {
    code: 4008,
    cause: `More than ${limits.gatewayFramesPerMinute} frames or ${limits.gatewayBytesPerMinute / 1024} KiB in 60 s, or than ${limits.gatewayFramesUnidentified} frames or ${limits.gatewayBytesUnidentified / 1024} KiB before \`READY\` or \`RESUMED\`; or too many identifies and resumes of the account or address.`,
    advice: 'Resume, with backoff. Send less.',
    reconnect: 'resume',
  },
  timedOut: { code: 4009, cause: 'No heartbeat for 1.5 intervals.', advice: 'Resume.', reconnect: 'resume' },
  tooSlow: {
    code: 4010,
    cause: `The client reads too slowly: more than ${formatMib(limits.gatewayBufferBytes)} is waiting for it.`,
    advice: 'Resume. Read faster, or ask for fewer events.',
    reconnect: 'resume',
  },
  badVersion: { code: 4012, cause: 'Unknown version `v`.', advice: 'Stop.', reconnect: 'no' },
} as const satisfies Record<string, CloseCodeDefinition>;

/** The name of a close code. */
export type CloseCodeName = keyof typeof closeCodes;

import { formatMib, limits } from '../../../lib/base/limits.ts';
import { formatNumber } from './words.ts';

/** Limits of one topic: what is limited, and the limit in words. */
interface LimitGroup {
  id: string;
  title: string;
  /** What the rows have in common. */
  note?: string;
  rows: readonly (readonly [what: string, value: string])[];
}

const count = formatNumber;
const chars = (limit: number): string => `${count(limit)} characters`;

const perSecond = (rate: number, burst: number): string => `${count(rate)} per second, ${count(burst)} at once`;

/** A duration in its largest whole unit: `15 min`. */
function duration(ms: number): string {
  const units: [name: string, ms: number][] = [
    ['days', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ];
  const [name, size] = units.find(([, unit]) => ms >= unit && ms % unit === 0) ?? ['ms', 1];
  return `${count(ms / size)} ${name}`;
}

/** The limits that programs meet, in words. Those of single fields are beside the fields as well. */
export const limitGroups: readonly LimitGroup[] = [
  {
    id: 'requests',
    title: 'Requests',
    rows: [
      ['JSON body', `${formatMib(limits.bodyBytes)}, ${limits.bodyDepth} levels`],
      ['Page of messages', `${limits.pageMax}, by default ${limits.pageDefault}`],
      ['Page of members', `${count(limits.membersListed)}, by default ${limits.membersPageDefault}`],
      ['Idempotency-Key', `${chars(limits.idempotencyKeyChars)}, kept for ${duration(limits.idempotencyRetentionMs)}`],
      ['Start of a body', `within ${duration(limits.bodyFirstByteMs)}, then ${count(limits.bodyBytesPerSec)} bytes per second`],
      ['Uploads at once by one account', count(limits.uploadsPerCaller)],
    ],
  },
  {
    id: 'buckets',
    title: 'Rate limit buckets',
    note: 'A request takes one from a bucket, which fills up again evenly. An empty bucket answers 429. The header `X-RateLimit-Bucket` names the bucket, and `X-RateLimit-Limit` says how many it holds: an installation can change the numbers of `caller` and `address`.',
    rows: [
      ['caller: all requests of an account', perSecond(limits.callerPerSecond, limits.callerBurst)],
      [
        'address: requests without a valid credential, by address',
        perSecond(limits.callerPerSecond / limits.addressRateDivisor, limits.callerBurst / limits.addressRateDivisor),
      ],
      ['login: registrations and logins, by address', `${limits.loginsPerMinute} per minute, ${limits.loginsBurst} at once`],
      [
        'interaction: follow-ups and changes of answers, by interaction',
        perSecond((1000 / limits.followupRateMs) * limits.followups, limits.followups),
      ],
      ['application: the same, by application', perSecond(limits.callerPerSecond, limits.callerBurst)],
      ['webhook: posts, by webhook', `${limits.webhookPosts} in any ${duration(limits.webhookWindowMs)}`],
    ],
  },
  {
    id: 'messages',
    title: 'Messages',
    rows: [
      ['Content', chars(limits.messageChars)],
      ['Files', `${limits.filesPerMessage} of ${formatMib(limits.fileBytes)} each`],
      ['Embeds', `${limits.embedsPerMessage} with ${chars(limits.embedTotalChars)} each`],
      ['Title and description of an embed', `${chars(limits.embedTitleChars)} and ${chars(limits.embedDescriptionChars)}`],
      [
        'Fields of an embed',
        `${limits.embedFields}, names of ${chars(limits.embedFieldNameChars)}, values of ${chars(limits.embedFieldValueChars)}`,
      ],
      ['Nonce', chars(limits.nonceChars)],
      ['Different reactions', count(limits.reactionsPerMessage)],
      ['Pixels of an image', count(limits.imagePixels)],
    ],
  },
  {
    id: 'interactions',
    title: 'Commands and interactions',
    rows: [
      ['First answer', `within ${duration(limits.answerWindowMs)}`],
      ['Follow-ups', `for ${duration(limits.followupWindowMs)}; ${limits.followups}, and one more each second`],
      ['Commands of an application, or of it in one server', count(limits.commandsPerScope)],
      ['Options of a command', count(limits.optionsPerCommand)],
      ['Name and description of a command', `${chars(limits.commandNameChars)} and ${chars(limits.commandDescriptionChars)}`],
      ['Text of an option', chars(limits.optionStringChars)],
      ['Age of a signed request', `${limits.signatureAgeSecs} s`],
      ['Answer of an Interactions Endpoint', formatMib(limits.endpointResponseBytes)],
      ['Requests at once to an Interactions Endpoint', count(limits.requestsPerApplication)],
    ],
  },
  {
    id: 'webhooks',
    title: 'Webhooks',
    rows: [
      ['Webhooks of a channel', count(limits.webhooksPerChannel)],
      ['Posts', `${limits.webhookPosts} in any ${duration(limits.webhookWindowMs)}`],
      ['Name', chars(limits.webhookNameChars)],
      ['Delivery of a code host', formatMib(limits.deliveryBytes)],
    ],
  },
  {
    id: 'servers',
    title: 'Servers',
    rows: [
      ['Servers of a person', `${limits.serversPerPerson}; bots have no limit`],
      ['Channels, threads not counted', count(limits.channelsPerServer)],
      ['Roles', count(limits.rolesPerServer)],
      ['Permission overwrites of a channel', count(limits.overwritesPerChannel)],
      ['Pinned messages of a channel', count(limits.pinsPerChannel)],
      ['Active invites', count(limits.invitesPerServer)],
      ['Followers of an announcement channel', count(limits.followersPerChannel)],
      ['Threads started by one account in a channel', `${limits.threadsPerMinute} per minute`],
      ['Threads started in a server', `${limits.threadsPerServerPerMinute} per minute`],
      ['Applications of a person', count(limits.applicationsPerPerson)],
    ],
  },
  {
    id: 'gateway',
    title: 'Gateway',
    rows: [
      ['Identify or resume', `within ${duration(limits.gatewayIdentifyMs)} after connecting`],
      ['Resume', `within ${duration(limits.resumeWindowMs)} after the connection was lost`],
      ['Missed events of a server that a resume sends', count(limits.replayEvents)],
      ['Size of a frame from a client', `${count(limits.gatewayFrameBytes / 1024)} KiB`],
      ['Frames from a client', `${limits.gatewayFramesPerMinute} per minute`],
      ['Events that wait for a slow client', formatMib(limits.gatewayBufferBytes)],
      ['Sessions of an account', count(limits.gatewaySessionsPerAccount)],
      ['Watched accounts of a session', count(limits.accountsWatched)],
    ],
  },
];

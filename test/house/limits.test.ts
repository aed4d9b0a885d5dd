import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';

type Limits = Partial<Record<keyof typeof limits, number | readonly number[]>>;

/** The specification's Limits table: each row's words, and what they mean in `limits`. */
const table: readonly [row: string, value: string, holds: Limits][] = [
  ['Message content', '1-2000 characters (empty allowed with files or embeds)', { messageChars: 2000 }],
  ['Embeds per message or callback', 'up to 10', { embedsPerMessage: 10 }],
  ['Files per message', 'up to 10, each up to 10 MB', { filesPerMessage: 10, fileBytes: 10_485_760 }],
  ['Nonce', 'up to 64 characters', { nonceChars: 64 }],
  ['Messages page', '`limit` 1-100, default 50', { pageMax: 100, pageDefault: 50 }],
  ['Reply preview', 'first 200 characters', { replyPreviewChars: 200 }],
  ['Reactions', 'up to 20 different per message; reaction user list shows first 100', { reactionsPerMessage: 20, reactorsShown: 100 }],
  ['Pins', 'up to 50 per channel', { pinsPerChannel: 50 }],
  ['Typing indicator', 'about 9 seconds', { typingMs: 9_000 }],
  ['Interaction first answer', '3 seconds', { answerWindowMs: 3_000 }],
  ['Follow-up window', '15 minutes after answer or defer', { followupWindowMs: 900_000 }],
  ['Signature timestamp age', '5 minutes', { signatureAgeSecs: 300 }],
  ['Commands', 'up to 100 everywhere plus up to 100 per server; names unique per kind within a list', { commandsPerScope: 100 }],
  ['Options', 'up to 25 per command', { optionsPerCommand: 25 }],
  ['Prefix', '1-5 characters', { prefixChars: 5 }],
  ['Custom status', 'up to 128 characters', { customStatusChars: 128 }],
  ['Ban reason', 'up to 512 characters', { banReasonChars: 512 }],
  [
    'Webhooks',
    'up to 15 per channel; 5 messages every 5 seconds per webhook',
    { webhooksPerChannel: 15, webhookPosts: 5, webhookWindowMs: 5_000 },
  ],
  ['Code-host push', 'up to 5 commits shown', { pushCommitsShown: 5 }],
  [
    'Discovery description',
    'up to 300 characters; up to 5 tags, each up to 24 characters',
    { discoveryDescriptionChars: 300, discoveryTags: 5, discoveryTagChars: 24 },
  ],
  [
    'Discovery list',
    '`limit` 1-48, default 24; `offset` up to 960',
    { discoveryPageMax: 48, discoveryPageDefault: 24, discoveryOffsetMax: 960 },
  ],
  ['Servers per person', 'up to 100', { serversPerPerson: 100 }],
  ['Thread auto-archive', '60, 1440, 4320 or 10080 minutes', { threadAutoArchiveMinutes: [60, 1440, 4320, 10080] }],
  ['Developer-server invites', 'single use, at most an hour', { developerInviteMaxAgeSecs: 3600 }],
];

/** What the specification's field tables and our decisions set, beside the Limits table. */
const others: Limits = {
  channelsPerServer: 500,
  rolesPerServer: 250,
  applicationsPerPerson: 50,
  invitesPerServer: 1000,
  reactionsInAll: 10_000,
  emojiChars: 64,
  bioChars: 190,
  pronounsChars: 40,
  hashesAtOnce: 2,
  hashesWaiting: 200,
  hashesWaitingPerAddress: 40,
  loginDelayMs: 4_000,
  loginsDelayed: 1000,
  sessionsPerPerson: 50,
  sessionUseNotedMs: 300_000,
  loginCodesPerPerson: 5,
  loginCodeLifeMs: 900_000,
  inviteMaxAgeSecs: 604_800,
  inviteMaxUses: 100,
  bansListed: 1000,
  followersPerChannel: 1000,
  threadsListed: 1000,
  dmsListed: 1000,
  readsListed: 1000,
  mentionsCounted: 99,
  mentionsSearched: 1000,
  eventsOwed: 1000,
  answersOwed: 50,
  slowmodeMaxSecs: 21_600,
  nameChars: 100,
  webhookNameChars: 80,
  deliveriesWaiting: 100,
  webhookDeliveriesListed: 50,
  deliveryKeptMs: 86_400_000,
  deliveryBytes: 5_242_880,
  deliveryReadMs: 30_000,
  deliveriesReadAtOnce: 16,
  deliveriesReadPerServer: 8,
  deliveriesReadPerWebhook: 4,
  deliveriesReadPerAddress: 12,
  deliveryWaitMs: 10_000,
  deliveryIdChars: 128,
  deliveryEventChars: 64,
  topicChars: 1024,
  commandNameChars: 32,
  commandDescriptionChars: 100,
  optionStringChars: 2000,
  idempotencyKeyChars: 64,
  idempotencyKeptMs: 600_000,
  idempotencyTakeoverMs: 30_000,
  bodyBytes: 1_048_576,
  bodyDepth: 32,
  embedTitleChars: 256,
  embedDescriptionChars: 4096,
  embedFields: 25,
  embedFieldNameChars: 256,
  embedFieldValueChars: 1024,
  embedFooterChars: 2048,
  embedAuthorChars: 256,
  embedTotalChars: 6000,
  bodyFirstByteMs: 10_000,
  bodyBytesPerSec: 1024,
  bodyWindowMs: 10_000,
  slotsAwaited: 400,
  slotsAwaitedPerParty: 100,
  uploadsAtOnce: 32,
  uploadsPerCaller: 10,
  uploadsPerAddress: 24,
  uploadWaitMs: 3_000,
  imagePixels: 50_000_000,
  imageMegapixelsWaiting: 1000,
  imagesWaiting: 5000,
  imageWaitMs: 10_000,
  imageEncodeMs: 15_000,
  imageEncodeBytes: 1536 * 1024 * 1024,
  pictureBytes: 2_097_152,
  pictureSide: 256,
  imageAttempts: 5,
  endpointUrlChars: 2048,
  endpointAnswerBytes: 262_144,
  requestsPerApplication: 50,
  pingsPerApplication: 3,
  requestsInFlight: 1000,
  usesWaiting: 250,
  deliveriesListed: 100,
  previewsPerMessage: 5,
  previewBytes: 524_288,
  previewMs: 3_000,
  previewRedirects: 3,
  imageProxyBytes: 8_388_608,
  imageProxyMs: 5_000,
  imageProxyRedirects: 3,
  imageProxyAtOnce: 16,
  imageProxyPerCaller: 8,
  imageProxyWaitMs: 10_000,
  imageProxySendingBytes: 268_435_456,
  imageProxySendingPerCallerBytes: 67_108_864,
  imageProxyCacheBytes: 67_108_864,
  imageProxyCachedBytes: 2_097_152,
  imageProxyCachedMs: 3_600_000,
  imageProxyMissedMs: 60_000,
  imageProxyAgeSecs: 86_400,
  sessionsPerBot: 50,
  resumeWindowMs: 300_000,
  sessionKeptMs: 360_000,
  replayEvents: 2000,
  replayPageBytes: 1024 * 1024,
  gatewayFrameBytes: 16_384,
  gatewayIdentifyMs: 30_000,
  gatewayFramesPerMinute: 120,
  gatewayBytesPerMinute: 262_144,
  gatewayFramesUnidentified: 10,
  gatewayBytesUnidentified: 32_768,
  gatewayFragments: 16,
  gatewayUnidentifiedPerAddress: 200,
  gatewayFailuresPerAddress: 600,
  gatewayBufferBytes: 1_048_576,
};

describe('limits', () => {
  for (const [row, value, holds] of table)
    it(`${row}: ${value}`, () => {
      for (const [name, number] of Object.entries(holds)) expect(limits[name as keyof typeof limits], name).to.deep.equal(number);
    });

  it('the others are as decided, and there are no more', () => {
    const inTable = table.flatMap(([, , holds]) => Object.keys(holds));
    const rest = Object.fromEntries(Object.entries(limits).filter(([name]) => !inTable.includes(name)));
    expect(rest).to.deep.equal(others);
  });

  it('the rows are the specification’s, where that lies beside the repository', () => {
    if (!existsSync('../shared/spec.md')) return;
    const [, section = ''] = readFileSync('../shared/spec.md', 'utf8').split(/^## Limits$/m);
    const [body = ''] = section.split(/^## /m);
    const rows = [...body.matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, row, value]) => [row, value]).slice(1);
    expect(rows).to.deep.equal(table.map(([row, value]) => [row, value]));
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { sources } from './files.ts';

/** The table of limits in the specification: the text of each row, and the limits that it sets. */
const table: readonly [row: string, value: string, expected: Partial<typeof limits>][] = [
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

/** The code of the product that may read a limit. */
const readers = sources
  .filter((file) => !file.startsWith('test/') && file !== 'lib/base/limits.ts')
  .map((file) => readFileSync(file, 'utf8'));

describe('limits', () => {
  for (const [row, value, expected] of table)
    it(`${row}: ${value}`, () => {
      for (const [name, number] of Object.entries(expected)) expect(limits[name as keyof typeof limits], name).to.deep.equal(number);
    });

  it('each has a reader', () => {
    const unread = Object.keys(limits).filter((name) => !readers.some((source) => new RegExp(`\\b${name}\\b`).test(source)));
    expect(unread).to.deep.equal([]);
  });
});

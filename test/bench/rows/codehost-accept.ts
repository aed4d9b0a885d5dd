import type { Webhook } from '../../../lib/contract/webhook.ts';
import { seedServer } from '../../harness/seed.ts';
import type { LoadResult } from '../bare/load.ts';
import { multipleRow, type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';

/** A push of three commits with the additional fields that code hosts send: about 9 kB. */
const push = JSON.stringify({
  ref: 'refs/heads/main',
  before: 'a'.repeat(40),
  after: 'b'.repeat(40),
  compare: 'https://code.example/o/r/compare/aaaaaaaaaaaa...bbbbbbbbbbbb',
  commits: ['c', 'd', 'e'].map((digit) => ({
    id: digit.repeat(40),
    message: 'A change of a usual length\n\nAnd what there is to say about it, in some more words.',
    url: `https://code.example/o/r/commit/${digit.repeat(40)}`,
    author: { name: 'Sam', email: 'sam@code.example', username: 'sam' },
    added: Array.from({ length: 10 }, (_, at) => `lib/some/folder/file-${at}.ts`),
    modified: [],
  })),
  repository: {
    full_name: 'o/r',
    html_url: 'https://code.example/o/r',
    ...Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`address_${at}`, `https://code.example/api/repos/o/r/thing-${at}{/sha}`])),
  },
  sender: { login: 'sam', html_url: 'https://code.example/sam', avatar_url: 'https://code.example/avatars/1' },
});

/**
 * Deliveries accepted at 32 clients for 20 webhooks, compared with a bare route that parses the same body and inserts one document. No worker posts them
 * meanwhile, because each webhook posts at a fixed rate, however many arrive.
 */
export async function codehostAcceptRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  const seeded = await seedServer(setting.platform, { bots: 0, channels: 20 });
  const [bare, load] = await Promise.all([startHelper('delivery', setting.env), startHelper('load', {})]);
  try {
    const [ours, limit] = [setting.stack.apiUrl(), `http://127.0.0.1:${bare.port}`];
    const paths = await Promise.all(
      seeded.channelIds.map(async (id) => {
        const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${seeded.ownerToken}` };
        const made = await fetch(`${ours}/api/channels/${id}/webhooks`, { method: 'POST', headers, body: '{"name":"code host"}' });
        const webhook = (await made.json()) as Webhook;
        return `/api/webhooks/${webhook.id}/${webhook.token}/codehost`;
      }),
    );
    const round = (base: string, seconds: number): Promise<LoadResult> =>
      load.ask({
        method: 'POST',
        urls: paths.map((path) => base + path),
        authorization: '',
        headers: { 'X-GitHub-Event': 'push' },
        body: push,
        clients: 32,
        seconds,
      });
    await round(ours, 1);
    await round(limit, 1);
    const [mine, bound]: [LoadResult[], LoadResult[]] = [[], []];
    for (let i = 0; i < bench.rounds; i++) {
      mine.push(await round(ours, bench.seconds));
      bound.push(await round(limit, bench.seconds));
    }
    const failed = mine.reduce((sum, one) => sum + one.failed, 0);
    if (failed) throw new Error(`${failed} deliveries were not accepted`);
    const of = (results: LoadResult[], pick: (one: LoadResult) => number): number[] => results.map(pick);
    return [
      shareRow(
        'accept a code-host delivery, 32 clients',
        'deliveries/s',
        of(mine, (one) => one.perSecond),
        of(bound, (one) => one.perSecond),
        0.4,
      ),
      multipleRow(
        'accept a code-host delivery, 32 clients, p99',
        'ms',
        of(mine, (one) => one.p99),
        of(bound, (one) => one.p99),
        3,
      ),
    ];
  } finally {
    await Promise.all([bare.close(), load.close()]);
    await setting.close();
  }
}

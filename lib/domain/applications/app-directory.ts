import type { DirectoryApp, DirectoryPage, DirectoryQuery } from '../../contract/discovery.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { textFilter, toPage, toPageRange } from '../community/directory-pages.ts';
import { getTag, loadAccounts, toUserSummary } from '../views/accounts.ts';

type ListedApplication = Pick<ApplicationDoc, '_id' | 'botId' | 'name' | 'description' | 'iconUrl' | 'serverCount'>;

/**
 * Returns a page of the applications that their owners list and whose bots are public: verified bots first, then by number of servers, then the oldest. `q` is
 * matched literally and in any case in name and description. A bot's username is its application's name.
 */
export async function listDirectory(platform: Platform, query: DirectoryQuery): Promise<DirectoryPage> {
  const page = toPageRange(query);
  const { accounts, applications } = platform.db;
  const verified = (await accounts.find({ tag: 'verified_bot' }, { projection: { _id: 1 } }).toArray()).map((bot) => bot._id);
  const found = await applications
    .aggregate<ListedApplication>([
      { $match: { inDirectory: true, public: true, ...textFilter(query.q, ['search.name', 'search.description']) } },
      { $project: { botId: 1, name: 1, description: 1, iconUrl: 1, serverCount: { $ifNull: ['$serverCount', 0] } } },
      { $addFields: { verified: { $in: ['$botId', { $literal: verified }] } } },
      { $sort: { verified: -1, serverCount: -1, _id: 1 } },
      { $skip: page.skip },
      { $limit: page.limit + 1 },
    ])
    .toArray();
  const { items, hasMore } = toPage(found, page);
  return { items: await toDirectoryApps(platform, items), hasMore };
}

/** Applications as the directory shows them. An application that is being deleted has no bot account any more and is left out. */
async function toDirectoryApps(platform: Platform, applications: readonly ListedApplication[]): Promise<DirectoryApp[]> {
  const bots = await loadAccounts(
    platform,
    applications.map((one) => one.botId),
  );
  return applications.flatMap(({ _id, botId, name, description, iconUrl, serverCount = 0 }) => {
    const bot = bots.get(botId);
    const botAuthor = bot && { ...toUserSummary(bot), tag: getTag(bot) ?? ('bot' as const) };
    return botAuthor ? [{ id: _id, name, description, iconUrl, bot: botAuthor, serverCount }] : [];
  });
}

import { limits } from '../../../lib/base/limits.ts';
import { Sync, SyncQuery } from '../../../lib/contract/sync.ts';
import { getSync } from '../../../lib/domain/accounts/sync.ts';
import { type Route, route } from '../route.ts';

/** The route that a client calls when it starts, or when it could not resume its session (docs/delivery.md#sync). */
export const syncRoutes: readonly Route[] = [
  route({
    operationId: 'getSync',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/sync',
    auth: 'account',
    summary: `Returns what a client needs when it starts or after op 9: the caller’s servers with the channels that the caller can see, direct message channels, and how far the caller has read. A page has at most ${limits.serversPerPerson} servers with ${limits.channelsSynced} channels; \`next\` is the \`after\` of the next page. Direct message channels are on the first page.`,
    query: SyncQuery,
    reply: { status: 200, body: Sync, hasEtag: true },
    isCostly: true,
    errors: [],
    run: (platform, actor, { query }) => getSync(platform, actor, query),
  }),
];

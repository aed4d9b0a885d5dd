// Tests of Community and Discovery: the settings of a server, its channels for rules and updates, and finding and joining listed servers.
import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { useServer } from '../../harness/use.ts';

/** Which settings of a server a request changes. */
export type Settings = 'community' | 'discovery';

/** The body that turns Community on with two new channels. */
export const newChannels = { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' };

/** Starts an API with a server for each test, and returns the requests for its settings. They are made by the owner unless another caller is given. */
export function useCommunity(start = (): Promise<TestApi> => startTestApi()) {
  const given = useServer({}, { each: true, start });
  const { api, owner, server } = given;
  const path = (settings: Settings): string => `/api/servers/${server.id}/${settings}`;
  const change = (settings: Settings, body: object, as: Caller = owner): Promise<CommunitySettings> =>
    send(api, 200, as, 'PUT', path(settings), body);
  const fetchSettings = (as: Caller = owner): Promise<CommunitySettings> => send(api, 200, as, 'GET', path('community'));
  return {
    ...given,
    path,
    change,
    fetchSettings,
    fetchServer: (as: Caller = owner): Promise<Server> => send(api, 200, as, 'GET', `/api/servers/${server.id}`),
    fetchAudit: async () => (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`)).items,
    /** Turns Community on, by default with the server's first channel. */
    turnOn: (rulesChannelId = server.general, updatesChannelId = rulesChannelId) =>
      change('community', { enabled: true, rulesChannelId, updatesChannelId }),
    /** Expects that a change is refused with 400 and changes nothing; returns the paths of the errors. */
    async refusedChange(settings: Settings, body: object, code = 'invalid_request') {
      const before = await fetchSettings();
      const { errors } = await refused(api, [400, code], owner, 'PUT', path(settings), body);
      expect(await fetchSettings()).to.deep.equal(before);
      return errors?.map((error) => error.path);
    },
  };
}

/** Makes a test of the pages of a Discovery list whose items are named n0, n1, …: for each query it expects `count` items from `first` on, and `hasMore`. */
export function testPages(
  fetchPage: (query: string) => Promise<{ items: { name: string }[]; hasMore: boolean }>,
  expected: readonly [query: string, first: number, count: number, hasMore: boolean][],
): void {
  it('pages and hasMore', async () => {
    for (const [query, first, count, hasMore] of expected) {
      const page = await fetchPage(query);
      const names = page.items.map((one) => one.name);
      expect(names, query).to.deep.equal(Array.from({ length: count }, (_, at) => `n${first + at}`));
      expect(page.hasMore, query).to.equal(hasMore);
    }
  });
}

import { startTestApi, type TestApi } from '../../harness/api.ts';
import { authorize, type Bot, makeApplication, makePerson, makeServer, type Place } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

/** An API whose App Directory is empty before each test, and a person with three servers. */
interface AppDirectoryFixture {
  api: TestApi;
  owner: Caller;
  servers: readonly [Place, Place, Place];
  /** Changes an application of the owner. */
  patch(bot: Bot, fields: object): Promise<unknown>;
  /** Makes an application that is listed in the App Directory, and adds its bot to the first `servers` of the owner's servers. */
  list(name: string, servers?: number, fields?: object): Promise<Bot>;
}

/** Starts an API for tests of the App Directory. */
export function useAppDirectory(): AppDirectoryFixture {
  const api = use(startTestApi);
  beforeEach(() => api.platform.db.applications.updateMany({}, { $set: { inDirectory: false } }));
  const owner = make(() => makePerson(api), { each: true });
  const makeServers = async () => [await makeServer(api, owner), await makeServer(api, owner), await makeServer(api, owner)] as const;
  const servers = make(makeServers, { each: true });
  const patch = (bot: Bot, fields: object) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, fields);
  return {
    api,
    owner,
    servers,
    patch,
    async list(name, count = 0, fields = {}) {
      const bot = await makeApplication(api, owner, name);
      await patch(bot, { public: true, inDirectory: true, ...fields });
      for (const { id } of servers.slice(0, count)) await authorize(api, owner, bot, id);
      return bot;
    },
  };
}

import { startTestApi, type TestApi } from './api.ts';
import { type SeededServer, seedServer } from './seed.ts';

/** An API with a seeded server. */
export interface SeededApi extends TestApi {
  seeded: SeededServer;
  /** The Authorization value of the server's first bot. */
  as: string;
  /** The path of the messages in the server's first channel. */
  path: string;
}

/** Starts an API with a seeded server, by default of one bot and one channel. */
export async function startSeededApi(
  counts: Parameters<typeof seedServer>[1] = { bots: 1, channels: 1 },
  overrides: Record<string, string> = {},
): Promise<SeededApi> {
  const api = await startTestApi(overrides);
  const seeded = await seedServer(api.platform, counts);
  return { ...api, seeded, as: `Bot ${seeded.bots[0]?.token}`, path: `/api/channels/${seeded.channelIds[0]}/messages` };
}

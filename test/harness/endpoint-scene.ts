import type { Delivery } from '../../lib/contract/endpoint.ts';
import type { InteractionView } from '../../lib/contract/interaction.ts';
import { postInteraction } from '../../lib/domain/interactions/endpoint-delivery.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import type { Certificate } from './certificate.ts';
import { startEndpoint, type TestEndpoint } from './endpoint.ts';
import { type Scene, startScene } from './scene.ts';

/** A scene whose bot has an Interactions Endpoint in addition to its connection. */
export interface EndpointScene {
  scene: Scene;
  endpoint: TestEndpoint;
  /** Runs the job that posts an interaction, as a worker does. */
  post(id: string): Promise<void>;
  /** Stores a URL as the application's endpoint without a ping, for a URL that would not pass it. */
  moveTo(url: string): Promise<void>;
  /** The delivery log as the owner reads it, newest first. */
  log(): Promise<Delivery[]>;
  /** The log entry of one interaction, as `[status, outcome, reason]`; null if the log has none. */
  logged(id: string): Promise<unknown[] | null>;
  /** The interaction as the person who used it sees it. */
  view(id: string): Promise<InteractionView>;
  close(): Promise<void>;
}

/** Posts an interaction to its endpoint as a worker does, and waits until the result is stored. */
export const postWhole = async (worker: WorkerPlatform, id: string): Promise<void> => (await postInteraction(worker, id))?.();

/** Starts a scene, and saves the URL of a new endpoint, which is pinged. `allow` are further `host:port` pairs for OUTBOUND_ALLOW. */
export async function startEndpointScene(
  allow: readonly string[] = [],
  certificate?: Certificate,
  overrides: Record<string, string> = {},
): Promise<EndpointScene> {
  const endpoint = await startEndpoint(undefined, certificate);
  const scene = await startScene({ OUTBOUND_ALLOW: [endpoint.site.pair, ...allow].join(','), ...overrides });
  const { applicationId } = scene.bot;
  const path = `/api/applications/${applicationId}`;
  const as = scene.asPerson;
  const saved = await scene.api.call('PATCH', path, { as, body: { interactionsEndpointUrl: endpoint.url } });
  if (saved.status !== 200) throw new Error(JSON.stringify(saved.body));
  const log = async (): Promise<Delivery[]> =>
    (await scene.api.call<{ items: Delivery[] }>('GET', `${path}/deliveries?limit=100`, { as })).body.items;
  return {
    scene,
    endpoint,
    post: (id) => postWhole(scene.worker, id),
    async moveTo(url) {
      await scene.api.platform.db.applications.updateOne({ _id: applicationId }, { $set: { interactionsEndpointUrl: url } });
    },
    log,
    async logged(id) {
      const found = (await log()).find(({ interactionId }) => interactionId === id);
      return found ? [found.status, found.outcome, found.reason] : null;
    },
    view: async (id) => (await scene.api.call<InteractionView>('GET', `/api/interactions/${id}`, { as })).body,
    async close() {
      await scene.close();
      await endpoint.close();
    },
  };
}

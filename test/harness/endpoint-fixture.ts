import type { EndpointDelivery } from '../../lib/contract/endpoint.ts';
import type { InteractionView } from '../../lib/contract/interaction.ts';
import { postInteraction } from '../../lib/domain/jobs/endpoint-delivery.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import type { Certificate } from './certificate.ts';
import { startEndpoint, type TestEndpoint } from './endpoint.ts';
import { type InteractionFixture, startInteractionFixture } from './interaction-fixture.ts';
import { setApplication } from './seed.ts';
import { make, use } from './use.ts';

/** A scene whose bot has an Interactions Endpoint in addition to its connection. */
export interface EndpointFixture {
  fixture: InteractionFixture;
  endpoint: TestEndpoint;
  /** Runs the job that posts an interaction, as a worker does. */
  post(id: string): Promise<void>;
  /** Stores a URL as the application's endpoint without a ping, for a URL that would not pass it. */
  moveTo(url: string): Promise<void>;
  /** The delivery log as the owner reads it, newest first. */
  log(): Promise<EndpointDelivery[]>;
  /** The log entry of one interaction, as `[status, outcome, reason]`; null if the log has none. */
  logged(id: string): Promise<unknown[] | null>;
  /** The interaction as the person who used it sees it. */
  view(id: string): Promise<InteractionView>;
  close(): Promise<void>;
}

/** Posts an interaction to its endpoint as a worker does, and waits until the result is stored. */
export const postWhole = async (worker: WorkerPlatform, id: string): Promise<void> => (await postInteraction(worker, id))();

/** Starts a scene, and saves the URL of a new endpoint, which is pinged. `allow` are further `host:port` pairs for OUTBOUND_ALLOW. */
export async function startEndpointFixture(
  allow: readonly string[] = [],
  certificate?: Certificate,
  overrides: Record<string, string> = {},
): Promise<EndpointFixture> {
  const endpoint = await startEndpoint(undefined, certificate);
  const fixture = await startInteractionFixture({ OUTBOUND_ALLOW: [endpoint.site.pair, ...allow].join(','), ...overrides });
  const { applicationId } = fixture.bot;
  const path = `/api/applications/${applicationId}`;
  const as = fixture.asPerson;
  const saved = await fixture.api.call('PATCH', path, { as, body: { interactionsEndpointUrl: endpoint.url } });
  if (saved.status !== 200) throw new Error(JSON.stringify(saved.body));
  const log = async (): Promise<EndpointDelivery[]> =>
    (await fixture.api.call<{ items: EndpointDelivery[] }>('GET', `${path}/deliveries?limit=100`, { as })).body.items;
  return {
    fixture,
    endpoint,
    post: (id) => postWhole(fixture.worker, id),
    async moveTo(url) {
      await setApplication(fixture.api.platform, fixture.bot, { interactionsEndpointUrl: url });
    },
    log,
    async logged(id) {
      const found = (await log()).find(({ interactionId }) => interactionId === id);
      return found ? [found.status, found.outcome, found.reason] : null;
    },
    view: async (id) => (await fixture.api.call<InteractionView>('GET', `/api/interactions/${id}`, { as })).body,
    async close() {
      await fixture.close();
      await endpoint.close();
    },
  };
}

/** `startEndpointFixture` before the tests of a `describe`. Returns it, and its interaction fixture, at once, as `use` does. */
export function useEndpointFixture(allow: () => readonly string[] = () => []): Pick<EndpointFixture, 'fixture'> & {
  endpointFixture: EndpointFixture;
} {
  const endpointFixture = use(() => startEndpointFixture(allow()));
  return { endpointFixture, fixture: make(() => Promise.resolve(endpointFixture.fixture)) };
}

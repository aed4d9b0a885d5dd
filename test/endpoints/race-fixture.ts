import type { ServerResponse } from 'node:http';
import { startEndpointFixture } from '../harness/endpoint-fixture.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';

/** Starts a fixture whose bot has an Interactions Endpoint, with helpers for tests of races and faults. `overrides` are settings. */
export async function startRaceFixture(overrides: Record<string, string> = {}) {
  const endpointFixture = await startEndpointFixture([], undefined, overrides);
  const { fixture, endpoint } = endpointFixture;
  return {
    ...fixture,
    ...endpointFixture,
    /** Uses `hello` with the real 3 seconds; returns the interaction's id. */
    async invoke(): Promise<string> {
      const path = `/api/channels/${fixture.channelId}/commands/${fixture.commands.hello}/invoke`;
      return String((await fixture.api.call('POST', path, { as: fixture.asPerson, body: {} })).body.id);
    },
    /** Lets requests wait from now on. Returns the responses that wait. */
    hold(): ServerResponse[] {
      const held: ServerResponse[] = [];
      endpoint.answer((_received, response) => void held.push(response));
      return held;
    },
    /** The ids of the interactions that were posted so far. */
    posted: (): string[] => endpoint.received.map(({ json }) => String(json.id)),
    /** The contents of the messages that answer an interaction. */
    answersTo: async (id: string): Promise<string[]> =>
      (await fixture.messages()).filter(({ interaction }) => interaction?.id === id).map(({ content }) => content),
    /** The states in the interaction's outbox, which the person has not received yet. */
    pendingStates: async (id: string): Promise<string[]> =>
      ((await fixture.stored(id)).outbox ?? [])
        .filter(({ name }) => name === 'INTERACTION_UPDATE')
        .map(({ data }) => (data as { state: string }).state),
    /** The states that the person received. Waits for the first one. */
    async receivedStates(id: string): Promise<unknown[]> {
      const states = (): unknown[] => fixture.personal.filter(({ data }) => data.id === id).map(({ data }) => data.state);
      await waitUntil(() => states().length > 0, 'INTERACTION_UPDATE');
      return states();
    },
  };
}

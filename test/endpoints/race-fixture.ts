import type { ServerResponse } from 'node:http';
import { type EndpointFixture, startEndpointFixture } from '../harness/endpoint-fixture.ts';
import { type InteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';

/** A fixture whose bot has an Interactions Endpoint, with helpers for tests of races and faults. */
export interface RaceFixture extends InteractionFixture, EndpointFixture {
  close(): Promise<void>;
  /** Uses `hello` with the real 3 seconds; returns the interaction's id. */
  invoke(): Promise<string>;
  /** Lets requests wait from now on. Returns the responses that wait. */
  hold(): ServerResponse[];
  /** The ids of the interactions that were posted so far. */
  posted(): string[];
  /** The contents of the messages that answer an interaction. */
  answersTo(id: string): Promise<string[]>;
  /** The states in the interaction's outbox, which the person has not received yet. */
  pendingStates(id: string): Promise<unknown[]>;
  /** The states that the person received. Waits for the first one. */
  receivedStates(id: string): Promise<unknown[]>;
}

/** Starts the fixture. `overrides` are settings. */
export async function startRaceFixture(overrides: Record<string, string> = {}): Promise<RaceFixture> {
  const endpointFixture = await startEndpointFixture([], undefined, overrides);
  const { fixture, endpoint } = endpointFixture;
  return {
    ...fixture,
    ...endpointFixture,
    async invoke() {
      const path = `/api/channels/${fixture.channelId}/commands/${fixture.commands.hello}/invoke`;
      return String((await fixture.api.call('POST', path, { as: fixture.asPerson, body: {} })).body.id);
    },
    hold() {
      const held: ServerResponse[] = [];
      endpoint.answer((_received, response) => void held.push(response));
      return held;
    },
    posted: () => endpoint.received.map(({ json }) => String(json.id)),
    answersTo: async (id) => (await fixture.messages()).filter(({ interaction }) => interaction?.id === id).map(({ content }) => content),
    pendingStates: async (id) =>
      ((await fixture.stored(id)).outbox ?? [])
        .filter(({ name }) => name === 'INTERACTION_UPDATE')
        .map(({ data }) => (data as { state: string }).state),
    receivedStates: async (id) => {
      const states = (): unknown[] => fixture.personal.filter(({ data }) => data.id === id).map(({ data }) => data.state);
      await waitUntil(() => states().length > 0, 'INTERACTION_UPDATE');
      return states();
    },
  };
}

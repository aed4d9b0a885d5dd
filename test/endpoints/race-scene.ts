import { type EndpointScene, startEndpointScene } from '../harness/endpoint-scene.ts';
import { type Scene, until } from '../harness/scene.ts';

/** A scene whose bot has an Interactions Endpoint, with what tests of races and faults ask of it. */
export interface RaceScene extends Scene, EndpointScene {
  close(): Promise<void>;
  /** The ids of the interactions that were posted so far. */
  posted(): string[];
  /** The contents of the messages that answer an interaction. */
  answersTo(id: string): Promise<string[]>;
  /** The states that the interaction owes the person to be told of. */
  owedStates(id: string): Promise<unknown[]>;
  /** The states that the person heard of, once there is one. */
  heardStates(id: string): Promise<unknown[]>;
}

/** Builds the scene; `overrides` are settings. */
export async function startRaceScene(overrides: Record<string, string> = {}): Promise<RaceScene> {
  const made = await startEndpointScene([], undefined, overrides);
  const { scene, endpoint } = made;
  return {
    ...scene,
    ...made,
    posted: () => endpoint.received.map(({ json }) => String(json.id)),
    answersTo: async (id) => (await scene.messages()).filter(({ interaction }) => interaction?.id === id).map(({ content }) => content),
    owedStates: async (id) =>
      ((await scene.stored(id)).ob ?? [])
        .filter(({ name }) => name === 'INTERACTION_UPDATE')
        .map(({ data }) => (data as { state: string }).state),
    heardStates: async (id) => {
      const heard = (): unknown[] => scene.personal.filter(({ data }) => data.id === id).map(({ data }) => data.state);
      await until(() => heard().length > 0, 'INTERACTION_UPDATE');
      return heard();
    },
  };
}

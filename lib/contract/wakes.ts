/** A kind of work that the owner of its key does when it is woken. Its data contains only ids. */
interface WakeDefinition<D> {
  /** The id that decides which worker it belongs to, and in which partition it is woken. */
  key: (data: D) => string;
  /** How long the same work rests after a run, in milliseconds. Default: up to 25, as `rest` of `lib/store/redis/wakes.ts` says. */
  restMs?: number;
}

const defineWake = <D>(definition: WakeDefinition<D>): WakeDefinition<D> => definition;

/** Every kind of work that is done on wakes, with its handler in workers/handlers.ts (docs/delivery.md#wakes). A wake may be lost: what must not be lost is swept. */
export const wakes = {
  'relay-channel': defineWake<{ channelId: string }>({ key: ({ channelId }) => channelId }),
  'relay-server': defineWake<{ serverId: string }>({ key: ({ serverId }) => serverId }),
  // The rest limits how often the event goes to everyone who shares a server or a DM with the account.
  'relay-account': defineWake<{ accountId: string }>({ key: ({ accountId }) => accountId, restMs: 1_000 }),
  'relay-interaction': defineWake<{ interactionId: string }>({ key: ({ interactionId }) => interactionId }),
  'announce-typing': defineWake<{ channelId: string; userId: string; typingId: string }>({ key: ({ channelId }) => channelId }),
  'announce-read': defineWake<{ channelId: string; userId: string }>({ key: ({ userId }) => userId }),
} as const;

/** The name of a kind of work that is done on wakes. */
export type WakeName = keyof typeof wakes;
/** The data of that work. */
export type WakeData<N extends WakeName> = Parameters<(typeof wakes)[N]['key']>[0];

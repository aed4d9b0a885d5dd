/** What channels of a kind can do (docs/behavior/servers.md#channel-kinds). */
export interface ChannelCapabilities {
  /** Messages are posted in it. */
  hasMessages: boolean;
  /** Threads are started in it, and webhooks post in it. */
  hasThreadsAndWebhooks: boolean;
  /** Its messages can be crossposted to the channels that follow it. */
  canBeFollowed: boolean;
  /** It can follow announcement channels. */
  canFollow: boolean;
  /** It has permission overwrites of its own. A thread has those of its parent. */
  hasOverwrites: boolean;
}

const none: ChannelCapabilities = {
  hasMessages: false,
  hasThreadsAndWebhooks: false,
  canBeFollowed: false,
  canFollow: false,
  hasOverwrites: true,
};
const messages: ChannelCapabilities = { ...none, hasMessages: true, hasThreadsAndWebhooks: true };

/** The capabilities of each kind of channel. */
export const channelKinds = {
  category: none,
  text: { ...messages, canFollow: true },
  announcement: { ...messages, canBeFollowed: true },
  voice: none,
  thread: { ...messages, hasThreadsAndWebhooks: false, hasOverwrites: false },
} as const satisfies Record<string, ChannelCapabilities>;

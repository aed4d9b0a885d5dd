import { keep, keptWords } from '../ui/kept.ts';

const key = 'parlance.visited';
/** The maximum number of servers whose last channel is stored; the least recently visited are dropped. */
const most = 100;

/** Returns the channel of a server that was last visited in this browser. */
export const lastVisited = (serverId: string): string | undefined =>
  keptWords(key)
    .find((one) => one.startsWith(`${serverId}:`))
    ?.slice(serverId.length + 1);

/** Stores the channel of a server as the last visited one. */
export function noteVisit(serverId: string, channelId: string): void {
  const others = keptWords(key).filter((one) => !one.startsWith(`${serverId}:`));
  keep(key, [`${serverId}:${channelId}`, ...others].slice(0, most).join(' '));
}

import { keep, keptWords } from '../ui/kept.ts';

const key = 'parlance.visited';
/** Servers whose last channel is remembered at most: those looked at longest ago are forgotten. */
const most = 100;

/** The channel of a server that was looked at last in this browser. */
export const lastVisited = (serverId: string): string | undefined =>
  keptWords(key)
    .find((one) => one.startsWith(`${serverId}:`))
    ?.slice(serverId.length + 1);

/** Remembers that a channel of a server is looked at. */
export function noteVisit(serverId: string, channelId: string): void {
  const others = keptWords(key).filter((one) => !one.startsWith(`${serverId}:`));
  keep(key, [`${serverId}:${channelId}`, ...others].slice(0, most).join(' '));
}

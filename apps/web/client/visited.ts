import { readStoredWords, writeStored } from '../ui/browser-storage.ts';

const key = 'parlance.visited';
/** The maximum number of servers whose last channel is stored; the least recently visited are dropped. */
const maxServers = 100;

/** Returns the channel of a server that was last visited in this browser. */
export const lastVisited = (serverId: string): string | undefined =>
  readStoredWords(key)
    .find((one) => one.startsWith(`${serverId}:`))
    ?.slice(serverId.length + 1);

/** Stores the channel of a server as the last visited one. */
export function noteVisit(serverId: string, channelId: string): void {
  const others = readStoredWords(key).filter((one) => !one.startsWith(`${serverId}:`));
  writeStored(key, [`${serverId}:${channelId}`, ...others].slice(0, maxServers).join(' '));
}

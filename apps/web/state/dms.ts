import { signal } from '@preact/signals';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import { call } from '../api/call.ts';
import { mergeUser, putListedPresence, userOf } from './people.ts';

/** The user's open DMs, newest first. */
export const dms = signal<readonly DmChannel[]>([]);

function storeRecipient({ recipient }: DmChannel): void {
  const { id, username, displayName, status, customStatus, tag } = recipient;
  mergeUser({ id, username, displayName, avatarUrl: userOf(id)?.avatarUrl ?? null, ...(tag && { tag }) });
  putListedPresence(id, { status, customStatus });
}

const sorted = (list: readonly DmChannel[]): DmChannel[] =>
  list.toSorted((a, b) => ((b.lastMessageId ?? b.id) > (a.lastMessageId ?? a.id) ? 1 : -1));

/** Replaces all known DMs of the user. */
export function setDms(all: readonly DmChannel[]): void {
  all.forEach(storeRecipient);
  dms.value = sorted(all);
}

/** Loads the list of DMs. A message that came meanwhile stays the last one of its DM. Throws `ApiError`. */
async function loadDms(): Promise<void> {
  const loaded = await call<DmChannel[]>('GET', '/api/users/@me/channels');
  const known = new Map(dms.value.map(({ id, lastMessageId }) => [id, lastMessageId ?? '']));
  setDms(loaded.map((dm) => ({ ...dm, lastMessageId: [known.get(dm.id) ?? '', dm.lastMessageId ?? ''].sort()[1] || null })));
}

/** Opens the DM with another person; returns the existing one if there is one. Throws `ApiError`. */
export async function openDm(recipientId: string): Promise<DmChannel> {
  const dm = await call<DmChannel>('POST', '/api/users/@me/channels', { recipientId });
  storeRecipient(dm);
  dms.value = sorted([...dms.value.filter(({ id }) => id !== dm.id), dm]);
  return dm;
}

/** Records a new message of a DM. If the DM is not in the list yet, the list is loaded again. */
export function noteDmMessage(channelId: string, messageId: string): void {
  if (!dms.value.some(({ id }) => id === channelId)) void loadDms().catch(() => undefined);
  else
    dms.value = sorted(
      dms.value.map((dm) => (dm.id === channelId && messageId > (dm.lastMessageId ?? '') ? { ...dm, lastMessageId: messageId } : dm)),
    );
}

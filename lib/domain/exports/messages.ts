import type { MessageDoc, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { canView, loadCurrentServerAccess } from '../access/checks.ts';
import { deletedAuthor, loadAccounts, toUserSummary } from '../views/accounts.ts';
import { toArchiveName } from './archive.ts';

/** How many messages one query reads. */
const pageSize = 200;

/** The server and the channel of a message, as the archive names them. */
interface Place {
  server: { id: string; name: string } | null;
  /** `name` is null unless the person can view the channel now. */
  channel: { id: string; name: string | null } | { id: string; directMessageWith: { id: string; username: string; displayName: string } };
}

/** The servers and channels of a page of messages, by the ids of the channels. */
async function loadPlaces(platform: WorkerPlatform, userId: string, messages: readonly MessageDoc[]): Promise<Map<string, Place>> {
  const places = new Map<string, Place>();
  const serverIdByChannel = new Map(messages.map(({ channelId, serverId }) => [channelId, serverId]));
  for (const serverId of new Set(serverIdByChannel.values())) {
    const channelIds = [...serverIdByChannel].flatMap(([channelId, id]) => (id === serverId ? [channelId] : []));
    if (serverId === null) {
      for (const [id, place] of await loadDirectPlaces(platform, userId, channelIds)) places.set(id, place);
      continue;
    }
    const access = await loadCurrentServerAccess(platform, serverId);
    await access?.preloadChannels(channelIds);
    const server = { id: serverId, name: access?.server.name ?? 'deleted server' };
    for (const id of channelIds) {
      const isVisible = access !== null && (await canView(access, userId, id));
      places.set(id, { server, channel: { id, name: isVisible ? ((await access.channel(id))?.name ?? null) : null } });
    }
  }
  return places;
}

async function loadDirectPlaces(platform: WorkerPlatform, userId: string, channelIds: readonly string[]): Promise<[string, Place][]> {
  const dms = await platform.db.dms.find({ _id: { $in: [...channelIds] } }).toArray();
  const otherIds = dms.map(({ userIds: [one, other] }) => (one === userId ? other : one));
  const accounts = await loadAccounts(platform, otherIds);
  return dms.map(({ _id }, at) => {
    const otherId = otherIds[at] as string;
    const account = accounts.get(otherId);
    const { id, username, displayName } = account ? toUserSummary(account) : deletedAuthor(otherId);
    return [_id, { server: null, channel: { id: _id, directMessageWith: { id, username, displayName } } }];
  });
}

/** A message that the person wrote, as it is in the archive. `file` is null if the archive has no room for the file. */
export interface ExportedMessage extends Place {
  id: string;
  createdAt: string;
  editedAt: string | null;
  content: string;
  attachments: (Omit<StoredAttachment, 'key'> & { file: string | null })[];
  replyTo: string | null;
  pinned: boolean;
}

/**
 * Reads all messages that a person wrote, oldest first, in pages. Leaves out deleted ones, and the copies of announcements in channels that follow. `takeFile`
 * is called for each attachment, and says whether the archive has room for it.
 */
export async function* readOwnMessages(
  platform: WorkerPlatform,
  userId: string,
  takeFile: (attachment: StoredAttachment, name: string) => boolean,
): AsyncGenerator<ExportedMessage, void> {
  for (let last = ''; ; ) {
    const page: MessageDoc[] = await platform.db.messages
      .find({ authorId: userId, _id: { $gt: last } })
      .sort({ _id: 1 })
      .limit(pageSize)
      .toArray();
    const own = page.filter(({ deleted, copyOf }) => !deleted && copyOf === undefined);
    const places = await loadPlaces(platform, userId, own);
    for (const { _id, channelId, serverId, createdAt, editedAt, content, attachments, replyTo, pinnedAt } of own)
      yield {
        id: _id,
        createdAt: createdAt.toISOString(),
        editedAt: editedAt?.toISOString() ?? null,
        ...(places.get(channelId) ?? {
          server: serverId === null ? null : { id: serverId, name: 'deleted server' },
          channel: { id: channelId, name: null },
        }),
        content,
        attachments: attachments.map((attachment) => {
          const { key: _, ...shown } = attachment;
          const name = toArchiveName(attachment.id, attachment.filename);
          return { ...shown, file: takeFile(attachment, name) ? name : null };
        }),
        replyTo,
        pinned: pinnedAt !== undefined,
      };
    if (page.length < pageSize) return;
    last = page.at(-1)?._id ?? last;
  }
}

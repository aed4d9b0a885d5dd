import { useSignal } from '@preact/signals';
import { Archive } from 'lucide';
import type { JSX } from 'preact';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { channels, putChannel } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { Icon } from '../../ui/icon.tsx';
import { Problem } from '../../ui/problem.tsx';
import { bornOf } from '../../ui/times.ts';
import { sayRefusal } from '../../ui/toast.tsx';
import { useRead } from '../../ui/use-read.ts';
import { mayWrite, type Place, pathOf } from '../place.ts';
import { Panel } from './panel.tsx';
import './panels.css';
import { ThreadDialog } from './thread-dialog.tsx';

/** Archives or unarchives a thread; shows the error when that fails. */
export async function setArchived(thread: Channel, archived: boolean): Promise<void> {
  await call<Channel>('PATCH', path`/api/channels/${thread.id}`, { archived }).then(putChannel, sayRefusal);
}

function ThreadRow({ thread, manages, again }: { thread: Channel; manages: boolean; again: () => void }): JSX.Element {
  const count = thread.messageCount ?? 0;
  return (
    <li class="thread-row">
      <a href={pathOf(thread.id)}>
        <strong>
          <bdi>{thread.name}</bdi>
        </strong>
        <span class="hint">
          {countOf(count, 'message')}, started {bornOf(thread.id)}
        </span>
        {thread.archived && (
          <span class="hint">
            <Icon of={Archive} size="1em" /> Archived. A new message restores it.
          </span>
        )}
      </a>
      {manages && (
        <Button onClick={() => void setArchived(thread, !thread.archived).then(again)}>{thread.archived ? 'Restore' : 'Archive'}</Button>
      )}
    </li>
  );
}

/** The threads of a channel, including archived ones, latest activity first. */
export function ThreadsPanel({ place, onClose }: { place: Place; onClose: () => void }): JSX.Element {
  const { channelId, serverId, channel } = place;
  const starting = useSignal(false);
  const known = [...channels.value.values()].filter(({ parentId, kind }) => kind === 'thread' && parentId === channelId);
  // The list is loaded again when a thread is created, archived or unarchived elsewhere.
  const threads = useRead(
    (signal) => call<Channel[]>('GET', path`/api/channels/${channelId}/threads`, undefined, { signal }),
    [channelId, known.map(({ id, archived }) => `${id}${archived}`).join()],
  );
  const manages = may('Manage Channels', serverId, channel);
  return (
    <Panel title="Threads" onClose={onClose}>
      {mayWrite(place) && (
        <p>
          <Button look="main" onClick={() => (starting.value = true)}>
            Start a thread
          </Button>
        </p>
      )}
      <Problem error={threads.error} again={threads.again} />
      {!threads.value && !threads.error && <p class="spinner">Loading …</p>}
      {threads.value?.length === 0 && <p class="soft">No threads yet.</p>}
      <ul>
        {threads.value?.map((thread) => (
          <ThreadRow key={thread.id} thread={channels.value.get(thread.id) ?? thread} manages={manages} again={threads.again} />
        ))}
      </ul>
      {starting.value && <ThreadDialog channelId={channelId} onClose={() => (starting.value = false)} />}
    </Panel>
  );
}

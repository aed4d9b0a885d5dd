import { Archive } from 'lucide';
import type { JSX } from 'preact';
import type { Channel } from '../../../../lib/contract/channel.ts';
import { call, path } from '../../api/call.ts';
import { may } from '../../state/rights.ts';
import { channels, putChannel } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { DialogButton } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Loading } from '../../ui/loading.tsx';
import { creationTimeOf } from '../../ui/times.ts';
import { showError } from '../../ui/toast.tsx';
import { useGet } from '../../ui/use-loaded.ts';
import { type ChannelContext, mayWrite, pathOf } from '../channel-context.ts';
import { Panel } from './panel.tsx';
import './panels.css';
import { ThreadDialog } from './thread-dialog.tsx';

/** Archives or unarchives a thread; shows the error when that fails. */
export async function setArchived(thread: Channel, archived: boolean): Promise<void> {
  await call<Channel>('PATCH', path`/api/channels/${thread.id}`, { archived }).then(putChannel, showError);
}

function ThreadRow({ thread, canManage, reload }: { thread: Channel; canManage: boolean; reload: () => void }): JSX.Element {
  const count = thread.messageCount ?? 0;
  return (
    <li class="thread-row">
      <a href={pathOf(thread.id)}>
        <strong>
          <bdi>{thread.name}</bdi>
        </strong>
        <span class="hint">
          {countOf(count, 'message')}, started {creationTimeOf(thread.id)}
        </span>
        {thread.archived && (
          <span class="hint">
            <Icon of={Archive} size="1em" /> Archived. A new message restores it.
          </span>
        )}
      </a>
      {canManage && (
        <Button onClick={() => void setArchived(thread, !thread.archived).then(reload)}>{thread.archived ? 'Restore' : 'Archive'}</Button>
      )}
    </li>
  );
}

/** The threads of a channel, including archived ones, latest activity first. */
export function ThreadsPanel({ context, onClose }: { context: ChannelContext; onClose: () => void }): JSX.Element {
  const { channelId, serverId, channel } = context;
  const knownThreads = [...channels.value.values()].filter(({ parentId, kind }) => kind === 'thread' && parentId === channelId);
  // The list is loaded again when a thread is created, archived or unarchived elsewhere.
  const threads = useGet<Channel[]>(
    path`/api/channels/${channelId}/threads`,
    knownThreads.map(({ id, archived }) => `${id}${archived}`).join(),
  );
  const canManage = may('Manage Channels', serverId, channel);
  return (
    <Panel title="Threads" onClose={onClose}>
      {mayWrite(context) && (
        <div>
          <DialogButton variant="main" dialog={(close) => <ThreadDialog channelId={channelId} onClose={close} />}>
            Start a thread
          </DialogButton>
        </div>
      )}
      <Loading of={threads} />
      {threads.value?.length === 0 && <p class="soft">No threads yet.</p>}
      <ul>
        {threads.value?.map((thread) => (
          <ThreadRow key={thread.id} thread={channels.value.get(thread.id) ?? thread} canManage={canManage} reload={threads.reload} />
        ))}
      </ul>
    </Panel>
  );
}

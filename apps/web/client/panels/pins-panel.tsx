import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import type { Message } from '../../../../lib/contract/message.ts';
import { call, path } from '../../api/call.ts';
import { patchMessage } from '../../state/histories.ts';
import { mergeUsersOf } from '../../state/people.ts';
import { editedPin, pinChanges } from '../../state/pins.ts';
import { may } from '../../state/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Loading } from '../../ui/loading.tsx';
import { showError } from '../../ui/toast.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { type ChannelContext, pathOf } from '../channel-context.ts';
import { MessageView } from '../chat/message.tsx';
import { Panel } from './panel.tsx';
import './panels.css';

/** The pinned messages of a channel, latest pin first. They are loaded again when a message is pinned or unpinned, and after events may have been missed. */
export function PinsPanel({ context, onClose }: { context: ChannelContext; onClose: () => void }): JSX.Element {
  const { channelId, serverId, channel } = context;
  const changes = pinChanges.value.get(channelId) ?? 0;
  const pins = useLoaded(
    async (signal) => {
      const list = await call<Message[]>('GET', path`/api/channels/${channelId}/pins`, undefined, { signal });
      for (const message of list) mergeUsersOf(message);
      return list;
    },
    [channelId, changes],
  );
  useSignalEffect(() => {
    const edited = editedPin.value;
    if (edited && pins.value?.some(({ id }) => id === edited.id)) pins.set(pins.value.map((one) => (one.id === edited.id ? edited : one)));
  });
  const unpin = (id: string): void => {
    call('DELETE', path`/api/channels/${channelId}/pins/${id}`).then(() => {
      patchMessage(channelId, id, { pinned: false });
      pins.reload();
    }, showError);
  };
  const mayUnpin = serverId === null || may('Manage Messages', serverId, channel);
  return (
    <Panel title="Pinned messages" onClose={onClose}>
      <Loading of={pins} />
      {pins.value?.length === 0 && <p class="soft">No pinned messages yet.</p>}
      <ul class="pin-list">
        {pins.value?.map((message) => (
          <li key={message.id}>
            <MessageView message={message} context={context} plain />
            <div class="actions">
              {mayUnpin && <Button onClick={() => unpin(message.id)}>Unpin</Button>}
              <a class="button" href={pathOf(channelId, message.id)}>
                Jump to message
              </a>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

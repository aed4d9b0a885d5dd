import { Bell, BellOff, X } from 'lucide';
import type { JSX } from 'preact';
import type { Message } from '../../../../lib/contract/message.ts';
import { userOf } from '../../state/people.ts';
import { withEntry } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { ChannelDraft } from './composer-drafts.ts';
import { replying } from './composing.ts';

/** Cancels the reply: the next message is not a reply. */
export const cancelReply = (channelId: string): void => {
  replying.value = withEntry(replying.value, channelId, undefined);
};

/** Shows whom the next message replies to, and whether it pings them. */
export function ReplyBar({ original, draft }: { original: Message; draft: ChannelDraft }): JSX.Element {
  const { author, channelId } = original;
  const pings = draft.isPinging.value;
  const name = userOf(author.id)?.displayName ?? author.displayName;
  return (
    <div class="composer-reply">
      <p>
        Replying to <bdi class="composer-to">{name}</bdi>
      </p>
      {author.id !== myId() && (
        <button
          type="button"
          class="button quiet"
          aria-pressed={pings}
          title={pings ? 'The author will be notified' : 'The author won’t be notified'}
          onClick={() => (draft.isPinging.value = !pings)}
        >
          <Icon of={pings ? Bell : BellOff} size="1em" /> Ping {pings ? 'on' : 'off'}
        </button>
      )}
      <IconButton of={X} label="Cancel reply" onClick={() => cancelReply(channelId)} />
    </div>
  );
}

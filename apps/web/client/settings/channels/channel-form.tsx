import type { JSX } from 'preact';
import { channelKinds } from '../../../../../lib/base/channel-kinds.ts';
import { limits } from '../../../../../lib/base/limits.ts';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import { call, path } from '../../../api/call.ts';
import { putChannel } from '../../../state/servers.ts';
import { CheckField, SelectField, TextField } from '../../../ui/form.tsx';
import { spanOf } from '../../../ui/times.ts';
import { DraftForm, useDraft } from '../draft.tsx';
import { categoryChoices, noCategory } from './kinds.ts';

/** The slow mode intervals that are offered, in seconds. The API accepts any number; if another one is set, it is offered too. */
const slowModes = [0, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, limits.slowmodeMaxSecs];

const slowModeChoices = (current: number): { value: string; label: string }[] =>
  [...new Set([...slowModes, current])]
    .toSorted((a, b) => a - b)
    .map((secs) => ({ value: String(secs), label: secs === 0 ? 'Off' : spanOf(secs) }));

const archiveChoices = limits.threadAutoArchiveMinutes.map((minutes) => ({ value: String(minutes), label: spanOf(minutes * 60) }));

const contentModes = [
  { value: 'default', label: 'Normal' },
  { value: 'spoiler', label: 'Spoiler: messages are hidden until clicked' },
  { value: 'age_restricted', label: 'Age-restricted: for people 18 and older' },
] as const;

const kinds = [
  { value: 'text', label: 'Text' },
  { value: 'announcement', label: 'Announcement: other channels can follow it' },
] as const;

/** Returns the fields of a channel as the form stores them. */
const fieldsOf = ({ name, topic, slowmodeSecs, contentMode, parentId, kind, autoArchiveMinutes, archived }: Channel) => ({
  name: name ?? '',
  topic: topic ?? '',
  slowmodeSecs: slowmodeSecs ?? 0,
  contentMode: contentMode ?? ('default' as const),
  parentId,
  kind: kind as 'text' | 'announcement',
  autoArchiveMinutes: autoArchiveMinutes ?? limits.threadAutoArchiveMinutesDefault,
  archived: archived ?? false,
});

/** Edits the fields that the channel's kind has. Only changed fields are sent. */
export function ChannelForm({ channel, serverId }: { channel: Channel; serverId: string }): JSX.Element {
  const draft = useDraft(fieldsOf(channel));
  const { now, set, field } = draft;
  const messages = channelKinds[channel.kind].hasThreadsAndWebhooks;
  const thread = channel.kind === 'thread';
  const save = async (): Promise<void> => putChannel(await call<Channel>('PATCH', path`/api/channels/${channel.id}`, draft.patch));
  return (
    <DraftForm draft={draft} save={save}>
      <TextField label="Name" required {...field('name')} />
      {messages && (
        <>
          <TextField
            label="Topic"
            hint={`What the channel is about, up to ${limits.topicChars} characters.`}
            lines={3}
            {...field('topic')}
          />
          <SelectField label="Type" options={kinds} {...field('kind')} />
        </>
      )}
      {(messages || channel.kind === 'voice') && (
        <SelectField
          label="Category"
          options={categoryChoices(serverId)}
          {...field('parentId')}
          value={now.parentId ?? noCategory}
          onValue={(id) => set({ parentId: id === noCategory ? null : id })}
        />
      )}
      {(messages || thread) && (
        <SelectField
          label="Slow mode"
          hint="How long each person must wait between messages. It does not apply to people with Manage Messages or Manage Channels."
          options={slowModeChoices(now.slowmodeSecs)}
          {...field('slowmodeSecs')}
          value={String(now.slowmodeSecs)}
          onValue={(secs) => set({ slowmodeSecs: Number(secs) })}
        />
      )}
      {messages && <SelectField label="Content" options={contentModes} {...field('contentMode')} />}
      {(messages || thread) && (
        <SelectField
          label={thread ? 'Archive after' : 'New threads are archived after'}
          hint="Time without new messages. A new message restores the thread."
          options={archiveChoices}
          value={String(now.autoArchiveMinutes)}
          onValue={(minutes) => set({ autoArchiveMinutes: Number(minutes) as typeof now.autoArchiveMinutes })}
        />
      )}
      {thread && (
        <CheckField label="Archived" hint="Hidden from the channel list until someone sends a message." {...draft.check('archived')} />
      )}
    </DraftForm>
  );
}

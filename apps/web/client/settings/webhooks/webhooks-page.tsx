import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { channelKinds } from '../../../../../lib/base/channel-kinds.ts';
import { limits } from '../../../../../lib/base/limits.ts';
import type { Channel } from '../../../../../lib/contract/channel.ts';
import type { Server } from '../../../../../lib/contract/server.ts';
import type { Webhook } from '../../../../../lib/contract/webhook.ts';
import { call, path } from '../../../api/call.ts';
import { may } from '../../../state/rights.ts';
import { countOf } from '../../../ui/counts.ts';
import { Form, SelectField, TextField, useForm } from '../../../ui/form.tsx';
import { Loading, Spinner } from '../../../ui/loading.tsx';
import { useAskToChoose, useUnsaved } from '../../../ui/unsaved.tsx';
import { useCreate } from '../../../ui/use-create.ts';
import { useGet, useLoaded } from '../../../ui/use-loaded.ts';
import { orderedChannels } from '../../channel-context.ts';
import { WebhookCard } from './webhook-card.tsx';

/** Returns the channels of a server in which the user may manage webhooks, in the order of the channel list. */
function manageableChannels(serverId: string): Channel[] {
  const { top, categories } = orderedChannels(serverId);
  return [...top, ...categories.flatMap(({ channels }) => channels)].filter(
    (channel) => channelKinds[channel.kind].hasThreadsAndWebhooks && may('Manage Webhooks', serverId, channel),
  );
}

function NewWebhookForm({ channelId, onCreated }: { channelId: string; onCreated: (webhook: Webhook) => void }): JSX.Element {
  const form = useForm({ name: '' });
  const create = useCreate();
  const run = async (): Promise<void> => {
    const webhook = await create<Webhook>(path`/api/channels/${channelId}/webhooks`, form.now);
    form.set({ name: '' });
    onCreated(webhook);
  };
  useUnsaved(form.now.name !== '', 'part');
  return (
    <Form form={form} run={run} action="Create">
      <h3>Create a webhook</h3>
      <TextField label="Name" hint="Shown as the author of its messages." required {...form.field('name')} />
    </Form>
  );
}

/** The most channels that are asked which of them have webhooks. */
const maxAsked = 50;

/** Returns how many webhooks each of the first channels has; a channel that cannot be read is left out. The channels are asked one after the other. */
async function countWebhooks(channelIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const id of channelIds.slice(0, maxAsked)) {
    const found = await call<Webhook[]>('GET', path`/api/channels/${id}/webhooks`, undefined, { signal }).catch(() => null);
    if (signal.aborted) break;
    if (found) counts.set(id, found.length);
  }
  return counts;
}

function ChannelWebhooks({ channelId }: { channelId: string }): JSX.Element {
  const webhooks = useGet<Webhook[]>(path`/api/channels/${channelId}/webhooks`);
  const list = webhooks.value;
  return (
    <>
      <Loading of={webhooks} />
      {list?.length === 0 && <p>This channel has no webhooks.</p>}
      {list?.map((webhook) => (
        <WebhookCard
          key={webhook.id}
          webhook={webhook}
          onChanged={(changed) => webhooks.set(list.map((one) => (one.id === changed.id ? changed : one)))}
          onDeleted={() => webhooks.set(list.filter(({ id }) => id !== webhook.id))}
        />
      ))}
      {list && list.length >= limits.webhooksPerChannel ? (
        <p class="soft">A channel can have at most {limits.webhooksPerChannel} webhooks.</p>
      ) : (
        list && <NewWebhookForm channelId={channelId} onCreated={(made) => webhooks.set([...list, made])} />
      )}
    </>
  );
}

/** The webhooks of a server, by channel. */
export function WebhooksPage({ server }: { server: Server }): JSX.Element {
  const offered = manageableChannels(server.id);
  const chosen = useSignal('');
  const choose = useAskToChoose((id: string) => (chosen.value = id));
  const counts = useLoaded(
    (signal) =>
      countWebhooks(
        offered.map(({ id }) => id),
        signal,
      ),
    [server.id],
  ).value;
  const withWebhooks = offered.filter(({ id }) => (counts?.get(id) ?? 0) > 0);
  const channel = offered.find(({ id }) => id === chosen.value) ?? withWebhooks[0] ?? offered[0];
  return (
    <>
      <p class="soft">
        A webhook is a secret URL that posts messages to one channel without a bot. Anyone who has the URL can post up to{' '}
        {limits.webhookPosts} messages in {limits.webhookWindowMs / 1000} seconds. If the URL leaks, reset it.
      </p>
      <SelectField
        label="Channel"
        options={offered.map(({ id, name }) => ({
          value: id,
          label: `${name ?? ''}${counts?.get(id) ? ` (${countOf(counts.get(id) ?? 0, 'webhook')})` : ''}`,
        }))}
        value={channel?.id ?? ''}
        onValue={choose}
      />
      {!counts && <Spinner />}
      {counts && channel && <ChannelWebhooks key={channel.id} channelId={channel.id} />}
    </>
  );
}

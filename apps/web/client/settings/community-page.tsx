import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { CommunityInput, CommunitySettings } from '../../../../lib/contract/community.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { changeServer } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { type Reading, useRead } from '../../ui/use-read.ts';
import { DraftForm, useDraftTask } from './draft.tsx';

/** Loads the Community and Discovery settings of a server. They are loaded again when someone turns them on or off, or the number of channels changes. */
export const useCommunity = (server: Server): Reading<CommunitySettings> =>
  useRead(
    (signal) => call('GET', path`/api/servers/${server.id}/community`, undefined, { signal }),
    [server.id, server.community, server.listed, server.channels.length],
  );

/** The select values for a new channel and for no channel. */
const fresh = 'new';
const none = '';

function ChannelForm({
  server,
  settings,
  onSaved,
}: {
  server: Server;
  settings: CommunitySettings;
  onSaved: (settings: CommunitySettings) => void;
}): JSX.Element {
  const on = settings.community;
  const { draft, task } = useDraftTask({
    rulesChannelId: settings.rulesChannelId ?? none,
    updatesChannelId: settings.updatesChannelId ?? none,
  });
  const { now } = draft;
  const chosen = [settings.rulesChannelId, settings.updatesChannelId];
  const texts = server.channels
    .filter(({ kind, id }) => kind === 'text' || chosen.includes(id))
    .map(({ id, name }) => ({ value: id, label: name ?? '' }));
  const choices = (standing: string | null, made: string): { value: string; label: string }[] => [
    ...(standing === null ? [{ value: none, label: on ? 'None (the channel was deleted)' : 'Choose…' }] : []),
    ...(standing === null ? [{ value: fresh, label: made }] : []),
    ...texts,
  ];
  const save = async (): Promise<void> => {
    const { rulesChannelId, updatesChannelId } = draft.patch;
    const input: CommunityInput = {
      enabled: true,
      ...(rulesChannelId !== undefined && { rulesChannelId }),
      ...(updatesChannelId !== undefined && { updatesChannelId }),
    };
    onSaved(await call<CommunitySettings>('PUT', path`/api/servers/${server.id}/community`, input));
  };
  const missing = !on && (now.rulesChannelId === none || now.updatesChannelId === none);
  return (
    <DraftForm
      draft={draft}
      task={task}
      save={save}
      shown={['/rulesChannelId', '/updatesChannelId']}
      label={on ? 'Save' : 'Turn Community on'}
      disabled={missing}
    >
      <SelectField
        label="Rules channel"
        hint="Where new members read the rules."
        options={choices(settings.rulesChannelId, 'Create a new channel: rules')}
        value={now.rulesChannelId}
        onValue={(rulesChannelId) => draft.set({ rulesChannelId })}
        error={task.error?.at('/rulesChannelId')}
      />
      <SelectField
        label="Updates channel"
        hint="Where moderators get news from the platform. A new channel is hidden from @everyone."
        options={choices(settings.updatesChannelId, 'Create a new channel for moderators only')}
        value={now.updatesChannelId}
        onValue={(updatesChannelId) => draft.set({ updatesChannelId })}
        error={task.error?.at('/updatesChannelId')}
      />
      {missing && <p class="hint">Community needs both channels.</p>}
    </DraftForm>
  );
}

/** The page that turns Community on with its two channels, changes them, and turns it off. */
export function CommunityPage({ server }: { server: Server }): JSX.Element {
  const reading = useCommunity(server);
  const leaving = useSignal(false);
  const settings = reading.value;
  const take = (found: CommunitySettings): void => {
    reading.set(found);
    changeServer(server.id, (one) => ({ ...one, community: found.community, listed: found.discovery.listed }));
  };
  const turnOff = async (): Promise<void> =>
    take(await call<CommunitySettings>('PUT', path`/api/servers/${server.id}/community`, { enabled: false }));
  return (
    <>
      <p class="soft">A Community server has a rules channel and a channel for moderators, and can be listed in Discovery.</p>
      <Problem error={reading.error} again={reading.again} />
      {!settings && !reading.error && <p class="spinner">Loading …</p>}
      {settings && (
        <>
          <p role="status">
            Community is <strong>{settings.community ? 'on' : 'off'}</strong>.
          </p>
          <ChannelForm server={server} settings={settings} onSaved={take} />
        </>
      )}
      {settings?.community && (
        <section class="settings-block">
          <h3>Turn Community off</h3>
          <p class="soft">The server is removed from Discovery. Both channels and the Discovery settings are kept.</p>
          <Button look="danger" onClick={() => (leaving.value = true)}>
            Turn Community off
          </Button>
        </section>
      )}
      {leaving.value && (
        <Confirm title="Turn Community off?" action="Turn off" run={turnOff} onClose={() => (leaving.value = false)}>
          <p>{server.listed ? 'The server is removed from Discovery immediately.' : 'The two channels are kept as ordinary channels.'}</p>
        </Confirm>
      )}
    </>
  );
}

import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { CommunityInput, CommunitySettings } from '../../../../lib/contract/community.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { changeServer } from '../../state/servers.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { SelectField } from '../../ui/form.tsx';
import { type Loaded, useLoaded } from '../../ui/use-loaded.ts';
import { DraftForm, useDraftTask } from './draft.tsx';

/** Loads the Community and Discovery settings of a server. They are loaded again when someone turns them on or off, or the number of channels changes. */
export const useCommunity = (server: Server): Loaded<CommunitySettings> =>
  useLoaded(
    (signal) => call('GET', path`/api/servers/${server.id}/community`, undefined, { signal }),
    [server.id, server.community, server.listed, server.channels.length],
  );

/** The select values for a new channel and for no channel. */
const newChannel = 'new';
const noChannel = '';

function ChannelForm({
  server,
  settings,
  onSaved,
}: {
  server: Server;
  settings: CommunitySettings;
  onSaved: (settings: CommunitySettings) => void;
}): JSX.Element {
  const isOn = settings.community;
  const { draft, task } = useDraftTask({
    rulesChannelId: settings.rulesChannelId ?? noChannel,
    updatesChannelId: settings.updatesChannelId ?? noChannel,
  });
  const { now } = draft;
  const chosen = [settings.rulesChannelId, settings.updatesChannelId];
  const texts = server.channels
    .filter(({ kind, id }) => kind === 'text' || chosen.includes(id))
    .map(({ id, name }) => ({ value: id, label: name ?? '' }));
  const choices = (current: string | null, newLabel: string): { value: string; label: string }[] => [
    ...(current === null ? [{ value: noChannel, label: isOn ? 'None (the channel was deleted)' : 'Choose…' }] : []),
    ...(current === null ? [{ value: newChannel, label: newLabel }] : []),
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
  const missing = !isOn && (now.rulesChannelId === noChannel || now.updatesChannelId === noChannel);
  return (
    <DraftForm
      draft={draft}
      task={task}
      save={save}
      shown={['/rulesChannelId', '/updatesChannelId']}
      label={isOn ? 'Save' : 'Turn on Community'}
      disabled={missing}
    >
      <SelectField
        label="Rules channel"
        hint="Where new members read the rules."
        options={choices(settings.rulesChannelId, 'Create a new rules channel')}
        value={now.rulesChannelId}
        onValue={(rulesChannelId) => draft.set({ rulesChannelId })}
        error={task.error?.at('/rulesChannelId')}
      />
      <SelectField
        label="Updates channel"
        hint="Where moderators get updates from the platform. A new channel is hidden from @everyone."
        options={choices(settings.updatesChannelId, 'Create a new moderators-only channel')}
        value={now.updatesChannelId}
        onValue={(updatesChannelId) => draft.set({ updatesChannelId })}
        error={task.error?.at('/updatesChannelId')}
      />
      {missing && <p class="hint">Choose both channels to turn on Community.</p>}
    </DraftForm>
  );
}

/** The page that turns Community on with its two channels, changes them, and turns it off. */
export function CommunityPage({ server }: { server: Server }): JSX.Element {
  const community = useCommunity(server);
  const isTurningOff = useSignal(false);
  const settings = community.value;
  const applySettings = (found: CommunitySettings): void => {
    community.set(found);
    changeServer(server.id, (one) => ({ ...one, community: found.community, listed: found.discovery.listed }));
  };
  const turnOff = async (): Promise<void> =>
    applySettings(await call<CommunitySettings>('PUT', path`/api/servers/${server.id}/community`, { enabled: false }));
  return (
    <>
      <p class="soft">A Community server has a rules channel and a channel for moderators, and can be listed in Discovery.</p>
      <ErrorNotice error={community.error} retry={community.reload} />
      {!settings && !community.error && <p class="spinner">Loading…</p>}
      {settings && (
        <>
          <p role="status">
            Community is <strong>{settings.community ? 'on' : 'off'}</strong>.
          </p>
          <ChannelForm server={server} settings={settings} onSaved={applySettings} />
        </>
      )}
      {settings?.community && (
        <section class="settings-block">
          <h3>Turn off Community</h3>
          <p class="soft">The server is removed from Discovery. Both channels and the Discovery settings are kept.</p>
          <Button variant="danger" onClick={() => (isTurningOff.value = true)}>
            Turn off Community
          </Button>
        </section>
      )}
      {isTurningOff.value && (
        <Confirm title="Turn off Community?" action="Turn off" run={turnOff} onClose={() => (isTurningOff.value = false)}>
          <p>{server.listed ? 'The server is removed from Discovery immediately.' : 'The two channels are kept as ordinary channels.'}</p>
        </Confirm>
      )}
    </>
  );
}

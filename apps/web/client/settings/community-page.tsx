import type { JSX } from 'preact';
import type { CommunityInput, CommunitySettings } from '../../../../lib/contract/community.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { changeServer } from '../../state/servers.ts';
import { ConfirmButton } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { type Loaded, useGet } from '../../ui/use-loaded.ts';
import { DraftForm, useDraft } from './draft.tsx';

/**
 * Loads the Community and Discovery settings of a server. They are loaded again when someone turns them on or off, or the number of channels changes. `set`
 * changes the server, too.
 */
export function useCommunity(server: Server): Loaded<CommunitySettings> {
  const { id, community, listed, channels } = server;
  const loaded = useGet<CommunitySettings>(path`/api/servers/${id}/community`, community, listed, channels.length);
  const set = (found: CommunitySettings): void => {
    loaded.set(found);
    changeServer(id, (one) => ({ ...one, community: found.community, listed: found.discovery.listed }));
  };
  return { ...loaded, set };
}

/** The select values for a new channel and for no channel. */
const newChannel = 'new';
const noChannel = '';

/** The props of a form that changes the settings of a server. */
export interface CommunityFormProps {
  server: Server;
  settings: CommunitySettings;
  onSaved: (settings: CommunitySettings) => void;
}

function ChannelForm({ server, settings, onSaved }: CommunityFormProps): JSX.Element {
  const isOn = settings.community;
  const draft = useDraft({
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
    <DraftForm draft={draft} save={save} label={isOn ? 'Save' : 'Turn on Community'} disabled={missing}>
      <SelectField
        label="Rules channel"
        hint="Where new members read the rules."
        options={choices(settings.rulesChannelId, 'Create a new rules channel')}
        {...draft.field('rulesChannelId')}
      />
      <SelectField
        label="Updates channel"
        hint="Where moderators get updates from the platform. A new channel is hidden from @everyone."
        options={choices(settings.updatesChannelId, 'Create a new moderators-only channel')}
        {...draft.field('updatesChannelId')}
      />
      {missing && <p class="hint">Choose both channels to turn on Community.</p>}
    </DraftForm>
  );
}

/** The page that turns Community on with its two channels, changes them, and turns it off. */
export function CommunityPage({ server }: { server: Server }): JSX.Element {
  const community = useCommunity(server);
  const settings = community.value;
  const turnOff = async (): Promise<void> =>
    community.set(await call<CommunitySettings>('PUT', path`/api/servers/${server.id}/community`, { enabled: false }));
  return (
    <>
      <p class="soft">A Community server has a rules channel and a channel for moderators, and can be listed in Discovery.</p>
      <Loading of={community} />
      {settings && (
        <>
          <p role="status">
            Community is <strong>{settings.community ? 'on' : 'off'}</strong>.
          </p>
          <ChannelForm server={server} settings={settings} onSaved={community.set} />
        </>
      )}
      {settings?.community && (
        <section class="settings-block">
          <h3>Turn off Community</h3>
          <p class="soft">The server is removed from Discovery. Both channels and the Discovery settings are kept.</p>
          <ConfirmButton
            variant="danger"
            question="Turn off Community?"
            text={server.listed ? 'The server is removed from Discovery immediately.' : 'The two channels are kept as ordinary channels.'}
            action="Turn off"
            run={turnOff}
          >
            Turn off Community
          </ConfirmButton>
        </section>
      )}
    </>
  );
}

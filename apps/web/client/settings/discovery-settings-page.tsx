import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { countCodePoints } from '../../../../lib/base/text.ts';
import type { CommunitySettings, DiscoveryInput } from '../../../../lib/contract/community.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { changeServer } from '../../state/servers.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { CheckField, SelectField, TextField } from '../../ui/form.tsx';
import { categoryChoices } from '../discovery/categories.ts';
import { useCommunity } from './community-page.tsx';
import { DraftForm, useDraftTask } from './draft.tsx';

/** Converts tags (keywords) to one line, separated by commas, and back. */
const lineOf = (tags: readonly string[]): string => tags.join(', ');
const tagsOf = (line: string): string[] =>
  line
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

function ListingForm({
  server,
  settings,
  onSaved,
}: {
  server: Server;
  settings: CommunitySettings;
  onSaved: (settings: CommunitySettings) => void;
}): JSX.Element {
  const { listed, category, description, tags } = settings.discovery;
  const { draft, task } = useDraftTask({ listed, category, description, line: lineOf(tags) });
  const { now, set, patch } = draft;
  const isTeamServer = server.types.includes('staff') || server.types.includes('developer');
  const tagError = task.error?.errors.find((one) => one.path.startsWith('/tags'));
  const save = async (): Promise<void> => {
    const { line, ...others } = patch;
    const input: DiscoveryInput = { ...others, ...(line !== undefined && { tags: tagsOf(line) }) };
    onSaved(await call<CommunitySettings>('PUT', path`/api/servers/${server.id}/discovery`, input));
  };
  const listedHint = isTeamServer
    ? 'Staff and developer servers are never listed.'
    : settings.community
      ? 'Anyone can find the server and join it without an invite. A description is required.'
      : 'Only Community servers can be listed. Turn on Community first.';
  return (
    <DraftForm draft={draft} task={task} save={save} shown={['/listed', '/description', ...(tagError ? [tagError.path] : [])]}>
      <CheckField
        label="List this server in Discovery"
        hint={listedHint}
        checked={now.listed}
        disabled={!now.listed && (isTeamServer || !settings.community)}
        onChecked={(on) => set({ listed: on })}
      />
      {task.error?.at('/listed') && <p class="field-error">{task.error.at('/listed')}</p>}
      <SelectField label="Category" options={categoryChoices} value={now.category} onValue={(value) => set({ category: value })} />
      <TextField
        label="Description"
        hint={`${countCodePoints(now.description)} of ${limits.discoveryDescriptionChars} characters.`}
        lines={4}
        value={now.description}
        onValue={(value) => set({ description: value })}
        error={task.error?.at('/description')}
      />
      <TextField
        label="Keywords"
        hint={`Up to ${limits.discoveryTags} keywords of up to ${limits.discoveryTagChars} characters, separated by commas. People can search for them.`}
        value={now.line}
        onValue={(line) => set({ line })}
        error={tagError?.message}
      />
    </DraftForm>
  );
}

/** What Discovery shows of a server, and whether it lists the server. */
export function DiscoverySettingsPage({ server }: { server: Server }): JSX.Element {
  const community = useCommunity(server);
  const applySettings = (found: CommunitySettings): void => {
    community.set(found);
    changeServer(server.id, (one) => ({ ...one, community: found.community, listed: found.discovery.listed }));
  };
  return (
    <>
      <ErrorNotice error={community.error} retry={community.reload} />
      {!community.value && !community.error && <p class="spinner">Loading…</p>}
      {community.value && (
        <>
          {!community.value.community && (
            <p class="settings-notice">
              This is not a Community server yet. <a href={`/servers/${server.id}/settings/community`}>Turn on Community</a>
            </p>
          )}
          <p role="status">
            The server is <strong>{community.value.discovery.listed ? 'listed' : 'not listed'}</strong> in{' '}
            <a href="/discovery">Discovery</a>.
          </p>
          <ListingForm server={server} settings={community.value} onSaved={applySettings} />
        </>
      )}
    </>
  );
}

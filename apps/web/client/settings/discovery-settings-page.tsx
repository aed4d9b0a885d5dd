import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { lengthOf } from '../../../../lib/base/text.ts';
import type { CommunitySettings, DiscoveryInput } from '../../../../lib/contract/community.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { changeServer } from '../../state/servers.ts';
import { CheckField, SelectField, TextField } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
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
  const team = server.types.includes('staff') || server.types.includes('developer');
  const tagFault = task.error?.errors.find((one) => one.path.startsWith('/tags'));
  const save = async (): Promise<void> => {
    const { line, ...others } = patch;
    const input: DiscoveryInput = { ...others, ...(line !== undefined && { tags: tagsOf(line) }) };
    onSaved(await call<CommunitySettings>('PUT', path`/api/servers/${server.id}/discovery`, input));
  };
  const why = team
    ? 'Staff and developer servers are never listed.'
    : settings.community
      ? 'Anyone can find the server and join it without an invite. Needs a description.'
      : 'Only Community servers can be listed. Turn Community on first.';
  return (
    <DraftForm draft={draft} task={task} save={save} shown={['/listed', '/description', ...(tagFault ? [tagFault.path] : [])]}>
      <CheckField
        label="List this server in Discovery"
        hint={why}
        checked={now.listed}
        disabled={!now.listed && (team || !settings.community)}
        onChecked={(on) => set({ listed: on })}
      />
      {task.error?.at('/listed') && <p class="field-error">{task.error.at('/listed')}</p>}
      <SelectField label="Category" options={categoryChoices} value={now.category} onValue={(value) => set({ category: value })} />
      <TextField
        label="Description"
        hint={`${lengthOf(now.description)} of ${limits.discoveryDescriptionChars} characters.`}
        lines={4}
        value={now.description}
        onValue={(value) => set({ description: value })}
        error={task.error?.at('/description')}
      />
      <TextField
        label="Keywords"
        hint={`Up to ${limits.discoveryTags}, each up to ${limits.discoveryTagChars} characters, separated by commas. People can search for them.`}
        value={now.line}
        onValue={(line) => set({ line })}
        error={tagFault?.message}
      />
    </DraftForm>
  );
}

/** What Discovery shows of a server, and whether it lists the server. */
export function DiscoverySettingsPage({ server }: { server: Server }): JSX.Element {
  const reading = useCommunity(server);
  const take = (found: CommunitySettings): void => {
    reading.set(found);
    changeServer(server.id, (one) => ({ ...one, community: found.community, listed: found.discovery.listed }));
  };
  return (
    <>
      <Problem error={reading.error} again={reading.again} />
      {!reading.value && !reading.error && <p class="spinner">Loading …</p>}
      {reading.value && (
        <>
          {!reading.value.community && (
            <p class="settings-notice">
              This is not a Community server yet. <a href={`/servers/${server.id}/settings/community`}>Turn Community on</a>
            </p>
          )}
          <p role="status">
            The server is <strong>{reading.value.discovery.listed ? 'listed' : 'not listed'}</strong> in <a href="/discovery">Discovery</a>.
          </p>
          <ListingForm server={server} settings={reading.value} onSaved={take} />
        </>
      )}
    </>
  );
}

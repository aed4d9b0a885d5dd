import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { countCodePoints } from '../../../../lib/base/text.ts';
import type { CommunitySettings, DiscoveryInput } from '../../../../lib/contract/community.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { CheckField, SelectField, TextField } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { categoryChoices } from '../discovery/categories.ts';
import { type CommunityFormProps, useCommunity } from './community-page.tsx';
import { DraftForm, useDraft } from './draft.tsx';

/** Converts tags (keywords) to one line, separated by commas, and back. */
const lineOf = (tags: readonly string[]): string => tags.join(', ');
const tagsOf = (line: string): string[] =>
  line
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

function ListingForm({ server, settings, onSaved }: CommunityFormProps): JSX.Element {
  const { listed, category, description, tags } = settings.discovery;
  const draft = useDraft({ listed, category, description, line: lineOf(tags) });
  const { now, patch } = draft;
  const isTeamServer = server.types.includes('staff') || server.types.includes('developer');
  const tagError = draft.task.error?.errors.find((one) => one.path.startsWith('/tags'));
  if (tagError) draft.shown.push(tagError.path);
  const listedError = draft.field('listed').error;
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
    <DraftForm draft={draft} save={save}>
      <CheckField
        label="List this server in Discovery"
        hint={listedHint}
        disabled={!now.listed && (isTeamServer || !settings.community)}
        {...draft.check('listed')}
      />
      {listedError && <p class="field-error">{listedError}</p>}
      <SelectField label="Category" options={categoryChoices} {...draft.bind('category')} />
      <TextField
        label="Description"
        hint={`${countCodePoints(now.description)} of ${limits.discoveryDescriptionChars} characters.`}
        lines={4}
        {...draft.field('description')}
      />
      <TextField
        label="Keywords"
        hint={`Up to ${limits.discoveryTags} keywords of up to ${limits.discoveryTagChars} characters, separated by commas. People can search for them.`}
        {...draft.bind('line')}
        error={tagError?.message}
      />
    </DraftForm>
  );
}

/** What Discovery shows of a server, and whether it lists the server. */
export function DiscoverySettingsPage({ server }: { server: Server }): JSX.Element {
  const community = useCommunity(server);
  return (
    <Loading of={community}>
      {(settings) => (
        <>
          {!settings.community && (
            <p class="settings-notice">
              This is not a Community server yet. <a href={`/servers/${server.id}/settings/community`}>Turn on Community</a>
            </p>
          )}
          <p role="status">
            The server is <strong>{settings.discovery.listed ? 'listed' : 'not listed'}</strong> in <a href="/discovery">Discovery</a>.
          </p>
          <ListingForm server={server} settings={settings} onSaved={community.set} />
        </>
      )}
    </Loading>
  );
}

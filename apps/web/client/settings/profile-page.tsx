import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { countCodePoints } from '../../../../lib/base/text.ts';
import type { Me, MeDetails, MePatch, Profile } from '../../../../lib/contract/user.ts';
import { call, path } from '../../api/call.ts';
import { mergeUser } from '../../state/people.ts';
import { me, myId } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { TextField } from '../../ui/form.tsx';
import { Loading, Spinner } from '../../ui/loading.tsx';
import { useGet } from '../../ui/use-loaded.ts';
import { DraftForm, useDraft } from './draft.tsx';
import { PictureField } from './picture-field.tsx';

/** Applies a change of the user's account everywhere on the page. */
function applyMe(changed: Partial<Me>): void {
  if (!me.value) return;
  me.value = { ...me.value, ...changed };
  const { id, username, displayName, avatarUrl } = me.value;
  mergeUser({ id, username, displayName, avatarUrl });
}

/** A preview of how others will see the typed values. */
function Preview({ displayName, pronouns, bio }: { displayName: string; pronouns: string; bio: string }): JSX.Element | null {
  const own = me.value;
  if (!own) return null;
  const name = displayName.trim() === '' ? own.username : displayName;
  return (
    <aside class="profile-preview" aria-label="Profile preview">
      <Avatar id={own.id} name={name} url={own.avatarUrl} size={72} status={own.status === 'invisible' ? 'offline' : own.status} />
      <div>
        <p>
          <strong>{name}</strong>
        </p>
        <p class="soft">
          {own.username}
          {pronouns.trim() !== '' && ` · ${pronouns}`}
        </p>
        {own.customStatus && <p>{own.customStatus}</p>}
        {bio.trim() !== '' && <p class="profile-bio">{bio}</p>}
      </div>
    </aside>
  );
}

function ProfileForm({ own, profile, onSaved }: { own: Me; profile: Profile; onSaved: (saved: MeDetails) => void }): JSX.Element {
  const draft = useDraft({
    // The display name defaults to the username, so the field is empty when both are the same.
    displayName: own.displayName === own.username ? '' : own.displayName,
    pronouns: profile.pronouns ?? '',
    bio: profile.bio ?? '',
  });
  const save = async (): Promise<void> => {
    const patch: MePatch = draft.patch;
    onSaved(await call<MeDetails>('PATCH', '/api/users/@me', patch));
  };
  return (
    <div class="profile-columns">
      <DraftForm draft={draft} save={save}>
        <TextField label="Display name" hint="Up to 32 characters. If empty, your username is shown." {...draft.field('displayName')} />
        <TextField label="Pronouns" hint={`Up to ${limits.pronounsChars} characters.`} {...draft.field('pronouns')} />
        <TextField
          label="About you"
          hint={`${countCodePoints(draft.now.bio)} of ${limits.bioChars} characters.`}
          lines={4}
          {...draft.field('bio')}
        />
      </DraftForm>
      <Preview {...draft.now} />
    </div>
  );
}

/** The user's public profile: name, picture, pronouns and bio, with a preview. */
export function ProfilePage(): JSX.Element {
  const loaded = useGet<Profile>(path`/api/users/${myId()}/profile`);
  const own = me.value;
  if (!own) return <Spinner />;
  return (
    <>
      <PictureField
        label="Profile picture"
        at="/api/users/@me/avatar"
        owner={{ id: own.id, name: own.displayName, url: own.avatarUrl }}
        onPicture={(avatarUrl) => applyMe({ avatarUrl })}
      />
      <Loading of={loaded}>
        {(profile) => (
          <ProfileForm
            own={own}
            profile={profile}
            onSaved={(saved) => {
              applyMe(saved);
              loaded.set({ ...profile, bio: saved.bio, pronouns: saved.pronouns });
            }}
          />
        )}
      </Loading>
    </>
  );
}

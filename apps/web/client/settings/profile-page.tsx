import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import { lengthOf } from '../../../../lib/base/text.ts';
import type { Me, MeInFull, MePatch, Profile } from '../../../../lib/contract/user.ts';
import { call, path } from '../../api/call.ts';
import { putFace } from '../../state/people.ts';
import { me, myId } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { TextField } from '../../ui/form.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useRead } from '../../ui/use-read.ts';
import { DraftForm, useDraftTask } from './draft.tsx';
import { PictureField } from './picture-field.tsx';

/** Applies a change of the user's account everywhere on the page. */
function takeMe(changed: Partial<Me>): void {
  if (!me.value) return;
  me.value = { ...me.value, ...changed };
  const { id, username, displayName, avatarUrl } = me.value;
  putFace({ id, username, displayName, avatarUrl });
}

/** A preview of how others will see the typed values. */
function Preview({ displayName, pronouns, bio }: { displayName: string; pronouns: string; bio: string }): JSX.Element | null {
  const own = me.value;
  if (!own) return null;
  const name = displayName.trim() === '' ? own.username : displayName;
  return (
    <aside class="profile-preview" aria-label="How others see it">
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

function ProfileForm({ own, profile, onSaved }: { own: Me; profile: Profile; onSaved: (saved: MeInFull) => void }): JSX.Element {
  const { draft, task } = useDraftTask({
    // The display name defaults to the username, so the field is empty when both are the same.
    displayName: own.displayName === own.username ? '' : own.displayName,
    pronouns: profile.pronouns ?? '',
    bio: profile.bio ?? '',
  });
  const { now, set } = draft;
  const save = async (): Promise<void> => {
    const patch: MePatch = draft.patch;
    onSaved(await call<MeInFull>('PATCH', '/api/users/@me', patch));
  };
  return (
    <div class="profile-columns">
      <DraftForm draft={draft} task={task} save={save} shown={['/displayName', '/pronouns', '/bio']}>
        <TextField
          label="Display name"
          hint="Up to 32 characters. If empty, your username is shown."
          value={now.displayName}
          onValue={(displayName) => set({ displayName })}
          error={task.error?.at('/displayName')}
        />
        <TextField
          label="Pronouns"
          hint={`Up to ${limits.pronounsChars} characters.`}
          value={now.pronouns}
          onValue={(pronouns) => set({ pronouns })}
          error={task.error?.at('/pronouns')}
        />
        <TextField
          label="About you"
          hint={`${lengthOf(now.bio)} of ${limits.bioChars} characters.`}
          lines={4}
          value={now.bio}
          onValue={(bio) => set({ bio })}
          error={task.error?.at('/bio')}
        />
      </DraftForm>
      <Preview {...now} />
    </div>
  );
}

/** The user's public profile: name, picture, pronouns and bio, with a preview. */
export function ProfilePage(): JSX.Element {
  const reading = useRead<Profile>((signal) => call('GET', path`/api/users/${myId()}/profile`, undefined, { signal }), [myId()]);
  const own = me.value;
  if (!own) return <p class="spinner">Loading …</p>;
  const profile = reading.value;
  return (
    <>
      <PictureField
        label="Your picture"
        at="/api/users/@me/avatar"
        face={{ id: own.id, name: own.displayName, url: own.avatarUrl }}
        onPicture={(avatarUrl) => takeMe({ avatarUrl })}
      />
      <Problem error={reading.error} again={reading.again} />
      {!profile && !reading.error && <p class="spinner">Loading …</p>}
      {profile && (
        <ProfileForm
          own={own}
          profile={profile}
          onSaved={(saved) => {
            takeMe(saved);
            reading.set({ ...profile, bio: saved.bio, pronouns: saved.pronouns });
          }}
        />
      )}
    </>
  );
}

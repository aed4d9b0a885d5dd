import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Server } from '../../../../lib/contract/server.ts';
import type { Profile } from '../../../../lib/contract/user.ts';
import { path, query } from '../../api/call.ts';
import { openDm } from '../../state/dms.ts';
import { membersOf, presenceOf, userOf } from '../../state/people.ts';
import { servers } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Avatar, statusNames } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { Loading } from '../../ui/loading.tsx';
import { dateOf } from '../../ui/times.ts';
import { askToLeave } from '../../ui/unsaved.tsx';
import { useGet } from '../../ui/use-loaded.ts';
import { Markup } from '../chat/markup.tsx';
import { roleStyle, TagMark } from '../chat/name.tsx';
import { MemberActions } from '../settings/member-actions.tsx';
import { badgeTexts } from './badges.ts';
import { profileOpen } from './open-profile.ts';
import { useMembers } from './use-member.ts';
import { usePresences } from './use-presences.ts';
import './profile.css';

function Roles({ server, userId }: { server: Server; userId: string }): JSX.Element | null {
  const memberRoles = membersOf(server.id)?.get(userId)?.roles ?? [];
  const roles = server.roles.filter(({ id }) => memberRoles.includes(id));
  if (roles.length === 0) return null;
  return (
    <>
      <dt>Roles</dt>
      <dd>
        <ul class="chips">
          {roles.map(({ id, name, color }) => (
            <li key={id} class="chip" style={roleStyle(color)}>
              <bdi>{name}</bdi>
            </li>
          ))}
        </ul>
      </dd>
    </>
  );
}

/** The public profile of an account. */
function ProfileBody({ profile, serverId, onClose }: { profile: Profile; serverId: string | null; onClose: () => void }): JSX.Element {
  const { user, bio, pronouns, badges, tag, createdAt, serverJoinedAt, mutualServers } = profile;
  const presence = presenceOf(user.id) ?? user;
  const { route } = useLocation();
  const opening = useTask();
  const server = servers.value.get(serverId ?? '');
  const member = server && membersOf(server.id)?.get(user.id);
  useMembers(serverId, [user.id]);
  usePresences([user.id]);
  const sendMessage = (): void =>
    void opening.run(async () => {
      const dm = await openDm(user.id);
      onClose();
      askToLeave(() => route(`/dms/${dm.id}`));
    });
  return (
    <div class="profile">
      <div class="profile-head">
        <Avatar id={user.id} name={user.displayName} url={userOf(user.id)?.avatarUrl ?? null} size={80} status={presence.status} />
        <div>
          <p class="profile-name">
            <bdi>{user.displayName}</bdi> <TagMark tag={tag ?? undefined} />
          </p>
          <p class="soft">
            <bdi>{user.username}</bdi>
            {pronouns && (
              <>
                {' · '}
                <bdi>{pronouns}</bdi>
              </>
            )}
          </p>
          <p>
            {statusNames[presence.status]}
            {presence.customStatus && (
              <>
                {' · '}
                <bdi>{presence.customStatus}</bdi>
              </>
            )}
          </p>
        </div>
      </div>
      {badges.length > 0 && (
        <ul class="chips" aria-label="Badges">
          {badges.map((badge) => (
            <li key={badge} class="chip" title={badgeTexts[badge].about}>
              {badgeTexts[badge].name}
            </li>
          ))}
        </ul>
      )}
      <dl>
        {bio && (
          <>
            <dt>About</dt>
            <dd>
              <Markup content={bio} serverId={serverId} />
            </dd>
          </>
        )}
        <dt>Member since</dt>
        <dd>
          {dateOf(createdAt)}
          {serverJoinedAt && server && (
            <>
              , in <bdi>{server.name}</bdi> since {dateOf(serverJoinedAt)}
            </>
          )}
        </dd>
        {server && <Roles server={server} userId={user.id} />}
        {mutualServers.length > 0 && user.id !== myId() && (
          <>
            <dt>Mutual servers</dt>
            <dd>
              <ul class="chips">
                {mutualServers.map(({ id, name }) => (
                  <li key={id}>
                    <a class="chip" href={`/servers/${id}`} onClick={onClose}>
                      <bdi>{name}</bdi>
                    </a>
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
      </dl>
      <ErrorNotice error={opening.error} />
      <div class="actions">
        {server && member && <MemberActions server={server} member={member} />}
        {user.id === myId() ? (
          <a class="button" href="/settings" onClick={onClose}>
            Edit profile
          </a>
        ) : (
          <Button variant="main" busy={opening.busy} onClick={sendMessage}>
            Send message
          </Button>
        )}
      </div>
    </div>
  );
}

function OpenProfile({ userId, serverId }: { userId: string; serverId: string | null }): JSX.Element {
  const close = (): void => {
    profileOpen.value = null;
  };
  const profile = useGet<Profile>(path`/api/users/${userId}/profile` + query({ serverId: serverId ?? undefined }));
  return (
    <Dialog title={profile.value?.user.displayName ?? userOf(userId)?.displayName ?? 'Profile'} onClose={close}>
      <Loading of={profile}>{(found) => <ProfileBody profile={found} serverId={serverId} onClose={close} />}</Loading>
    </Dialog>
  );
}

/** The open profile, as a dialog over the page. */
export function ProfileDialog(): JSX.Element | null {
  const profile = profileOpen.value;
  return profile && <OpenProfile key={profile.userId} {...profile} />;
}

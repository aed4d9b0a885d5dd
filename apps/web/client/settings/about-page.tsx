import type { JSX } from 'preact';
import type { Server } from '../../../../lib/contract/server.ts';
import { hasMoreMembers, loadMembers, membersOf, nameOf } from '../../state/people.ts';
import { myId } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { creationTimeOf } from '../../ui/times.ts';
import { useLoaded } from '../../ui/use-loaded.ts';
import { TypeMarks } from '../discovery/type-marks.tsx';
import { useMembers } from '../people/use-member.ts';
import { LeaveServer } from './leave-or-transfer.tsx';

/** Information about a server for every member, and the button to leave it. */
export function AboutPage({ server }: { server: Server }): JSX.Element {
  const { error, reload } = useLoaded(() => loadMembers(server.id), [server.id]);
  const members = membersOf(server.id);
  useMembers(server.id, [server.ownerId]);
  return (
    <>
      <div class="about-server">
        <Avatar id={server.id} name={server.name} url={server.iconUrl} size={80} square />
        <dl>
          <dt>Name</dt>
          <dd>
            {server.name} <TypeMarks types={server.types} />
          </dd>
          <dt>Members</dt>
          <dd>{members ? `${hasMoreMembers(server.id) ? 'More than ' : ''}${members.size.toLocaleString()}` : '…'}</dd>
          <dt>Owner</dt>
          <dd>{nameOf(server.ownerId)}</dd>
          <dt>Created</dt>
          <dd>{creationTimeOf(server.id)}</dd>
        </dl>
      </div>
      <ErrorNotice error={error} retry={reload} />
      {server.ownerId !== myId() && <LeaveServer server={server} />}
    </>
  );
}

import { refusedWithout, send } from '../../harness/requests.ts';
import { newMember, newRole, useServer } from '../../harness/use.ts';

const [manageChannels, manageRoles] = [1 << 6, 1 << 7];

describe('PATCH /api/servers/{serverId}/roles/{roleId}, permissions', () => {
  // The role of the moderator is above `role`.
  const { api, owner, server, moderator, role } = useServer({
    moderator: newMember(manageRoles),
    role: newRole({ permissions: manageChannels | manageRoles }),
  });

  it('403 missing_permission for removing a permission that the caller lacks; other changes succeed', async () => {
    const path = `/api/servers/${server.id}/roles/${role.id}`;
    await refusedWithout(api, 'Manage Channels', moderator, 'PATCH', path, { permissions: manageRoles });
    await send(api, 200, moderator, 'PATCH', path, { permissions: manageChannels, name: 'x' });
    await send(api, 200, owner, 'PATCH', path, { permissions: 0 });
  });
});

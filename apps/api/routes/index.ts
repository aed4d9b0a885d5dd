import type { Route } from '../route.ts';
import { accountDeletionRoutes } from './account-deletion.ts';
import { applicationsRoutes } from './applications.ts';
import { authRoutes } from './auth.ts';
import { bansRoutes } from './bans.ts';
import { channelsRoutes } from './channels.ts';
import { commandsRoutes } from './commands.ts';
import { communityRoutes } from './community.ts';
import { crosspostsRoutes } from './crossposts.ts';
import { deliveriesRoutes } from './deliveries.ts';
import { discoveryRoutes } from './discovery.ts';
import { dmsRoutes } from './dms.ts';
import { exportsRoutes } from './exports.ts';
import { gatewayRoutes } from './gateway.ts';
import { interactionsRoutes } from './interactions.ts';
import { invitesRoutes } from './invites.ts';
import { membersRoutes } from './members.ts';
import { messageRoutes } from './messages.ts';
import { metaRoutes } from './meta.ts';
import { picturesRoutes } from './pictures.ts';
import { pinsRoutes } from './pins.ts';
import { reactionsRoutes } from './reactions.ts';
import { readsRoutes } from './reads.ts';
import { rolesRoutes } from './roles.ts';
import { serversRoutes } from './servers.ts';
import { sessionsRoutes } from './sessions.ts';
import { signInRoutes } from './sign-in.ts';
import { syncRoutes } from './sync.ts';
import { threadsRoutes } from './threads.ts';
import { twoFactorRoutes } from './two-factor.ts';
import { typingRoutes } from './typing.ts';
import { usersRoutes } from './users.ts';
import { webhooksRoutes } from './webhooks.ts';

const sections: readonly Route[] = [
  ...messageRoutes,
  ...reactionsRoutes,
  ...pinsRoutes,
  ...crosspostsRoutes,
  ...typingRoutes,
  ...readsRoutes,
  ...syncRoutes,
  ...threadsRoutes,
  ...interactionsRoutes,
  ...commandsRoutes,
  ...usersRoutes,
  ...sessionsRoutes,
  ...exportsRoutes,
  ...twoFactorRoutes,
  ...signInRoutes,
  ...accountDeletionRoutes,
  ...dmsRoutes,
  ...serversRoutes,
  ...membersRoutes,
  ...bansRoutes,
  ...channelsRoutes,
  ...rolesRoutes,
  ...invitesRoutes,
  ...webhooksRoutes,
  ...deliveriesRoutes,
  ...communityRoutes,
  ...discoveryRoutes,
  ...picturesRoutes,
  ...authRoutes,
  ...applicationsRoutes,
  ...gatewayRoutes,
];

/** Every route of the API (docs/behavior/requests.md#requests). The routes that describe the API itself are last. */
export const routes: readonly Route[] = [...sections, ...metaRoutes(sections)];

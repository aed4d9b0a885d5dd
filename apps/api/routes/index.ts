import type { Route } from '../route.ts';
import { applicationsRoutes } from './applications.ts';
import { authRoutes } from './auth.ts';
import { commandsRoutes } from './commands.ts';
import { gatewayRoutes } from './gateway.ts';
import { interactionsRoutes } from './interactions.ts';
import { messageRoutes } from './messages.ts';
import { serversRoutes } from './servers.ts';

/** Every route of the API, in the order of the spec's sections. */
export const routes: readonly Route[] = [
  ...messageRoutes,
  ...interactionsRoutes,
  ...commandsRoutes,
  ...serversRoutes,
  ...authRoutes,
  ...applicationsRoutes,
  ...gatewayRoutes,
];

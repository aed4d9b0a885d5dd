import type { Route } from '../route.ts';
import { applicationsRoutes } from './applications.ts';
import { authRoutes } from './auth.ts';
import { commandsRoutes } from './commands.ts';
import { gatewayRoutes } from './gateway.ts';
import { interactionsRoutes } from './interactions.ts';
import { messageRoutes } from './messages.ts';
import { metaRoutes } from './meta.ts';
import { serversRoutes } from './servers.ts';

const sections: readonly Route[] = [
  ...messageRoutes,
  ...interactionsRoutes,
  ...commandsRoutes,
  ...serversRoutes,
  ...authRoutes,
  ...applicationsRoutes,
  ...gatewayRoutes,
];

/** Every route of the API, in the order of the spec's sections, then what describes the API itself. */
export const routes: readonly Route[] = [...sections, ...metaRoutes(sections)];

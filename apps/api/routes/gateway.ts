import { Type } from 'typebox';
import { limits } from '../../../lib/base/limits.ts';
import { type Route, route } from '../route.ts';

/** The route that returns the gateway's address (docs/delivery.md#connecting). */
export const gatewayRoutes: readonly Route[] = [
  route({
    operationId: 'getGateway',
    tag: 'Installation',
    method: 'GET',
    path: '/api/gateway',
    auth: 'none',
    summary: 'Returns the gateway’s address, and for how long a session can be resumed.',
    reply: {
      status: 200,
      body: Type.Object(
        {
          url: Type.String(),
          heartbeatIntervalMs: Type.Integer(),
          resumeWindowSecs: Type.Integer(),
          replayLimit: Type.Integer(),
        },
        { $defs: { GatewayEvent: { $ref: '#/components/schemas/GatewayEvent' } } },
      ),
    },
    errors: ['rate_limited'],
    run: async ({ config }) => ({
      url: config.gatewayUrl,
      heartbeatIntervalMs: config.HEARTBEAT_INTERVAL_MS,
      resumeWindowSecs: limits.resumeWindowMs / 1000,
      replayLimit: limits.replayEvents,
    }),
  }),
];

/**
 * Options of every HTTP server of ours: a request's headers may take 10 s, and connections are checked each second. Node checks them each 30 s by default, which is
 * how long `headersTimeout` may be exceeded.
 */
export const httpTimeouts = { headersTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;

import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { createOpenIdProvider, type OpenIdProvider } from '../outbound/openid-provider.ts';
import { createOutbound } from '../outbound/request.ts';

/** The path to which the provider sends a browser back. */
export const callbackPath = '/api/auth/oidc/callback';

/**
 * Opens the provider of OpenID Connect that the operator configured; null without one. Its requests may reach the host and port of the issuer even if its
 * address is private, because the operator chose it. Addresses that users choose never may (docs/security.md#sign-in-by-openid-connect).
 */
export function openOpenIdProvider(config: Config, log: Logger): OpenIdProvider | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, OUTBOUND_ALLOW, baseUrl } = config;
  if (issuer === '') return null;
  const { hostname, port, protocol } = new URL(issuer);
  const allow = [...OUTBOUND_ALLOW, ...(protocol === 'https:' ? [`${hostname}:${port || '443'}`] : [])];
  return createOpenIdProvider({ issuer, clientId, clientSecret, redirectUri: baseUrl + callbackPath }, createOutbound({ allow }), log);
}

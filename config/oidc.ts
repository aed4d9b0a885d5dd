import { emptyAs, oneOf, setting, text } from './setting.ts';

/** The settings without which nobody can sign in by OpenID Connect. */
const required = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'];

/** The host and port of a URL, with the default port of its scheme. */
const toHostPort = ({ hostname, port, protocol }: URL): string => `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;

/** Checks the URL of an issuer. It is compared as text, so it is not changed. */
function readIssuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (
    !url ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== '' ||
    url.password !== ''
  )
    throw new Error('must be a URL that begins with https://, without a query');
  return value;
}

function readProviderName(value: string): string {
  if (value.trim() === '' || value.length > 32) throw new Error('must have 1 to 32 characters');
  return value.trim();
}

/** The settings of the sign-in by OpenID Connect (docs/operations/sign-in.md#setup). */
export const oidcSettings = {
  OIDC_ISSUER: setting('URL of an OpenID Connect provider with which people can sign in, as in its metadata.', '', emptyAs(readIssuer, '')),
  OIDC_CLIENT_ID: setting('Client id of this installation at the OpenID Connect provider.', '', text),
  OIDC_CLIENT_SECRET: setting('Client secret of this installation at the OpenID Connect provider.', '', text),
  OIDC_NAME: setting('Name of the OpenID Connect provider on its button.', 'SSO', readProviderName),
  OIDC_ACCOUNTS: setting(
    'Whether a sign-in by OpenID Connect can create an account (create), or only belongs to existing ones (link).',
    'create',
    oneOf('create', 'link'),
  ),
} as const;

/** What is wrong with the combination of the settings for OpenID Connect, one line each. `allow` is OUTBOUND_ALLOW. */
export function findOidcErrors(
  env: Record<string, string | undefined>,
  issuer: string | undefined,
  allow: readonly string[] = [],
): string[] {
  const missing = required.filter((name) => !env[name]);
  const errors =
    missing.length > 0 && missing.length < required.length
      ? [`${missing.join(', ')} must be set too: OpenID Connect needs all of ${required.join(', ')}`]
      : [];
  const isPlain =
    issuer?.startsWith('http:') && !allow.some((pair) => toHostPort(new URL(`http://${pair}`)) === toHostPort(new URL(issuer)));
  return isPlain ? [...errors, 'OIDC_ISSUER must be an https URL, unless OUTBOUND_ALLOW has its host and port.'] : errors;
}

import * as oidc from 'openid-client';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Outbound } from './request.ts';
import { OutboundError } from './target.ts';

/** This installation as a client of the provider, as the operator registered it. */
export interface OpenIdClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

/** The secrets of one sign-in. The browser that began it keeps them, encrypted, until the provider sends it back. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Who signed in: an account of the provider, which its issuer and subject identify. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** What the provider calls a person. Only a suggestion: it identifies nobody. */
export interface SuggestedNames {
  readonly username: string | null;
  readonly displayName: string | null;
}

/**
 * Why a sign-in failed. `unavailable`: the provider did not answer, or its metadata cannot be used. `denied`: the person or the provider refused.
 * `invalid`: what came back does not belong to this sign-in, or the provider does not confirm it.
 */
export class SignInFailure extends Error {
  readonly reason: 'unavailable' | 'denied' | 'invalid';
  constructor(reason: SignInFailure['reason']) {
    super(`sign-in failed: ${reason}`);
    this.reason = reason;
  }
}

/** A provider of OpenID Connect. Both methods throw `SignInFailure`. */
export interface OpenIdProvider {
  /** The address to which a sign-in sends the browser. */
  createAuthorizationUrl(secrets: SignInSecrets): Promise<string>;
  /**
   * Verifies with what the provider sent a browser back (`search` is the query of that URL), and asks the provider who signed in. `loadNames` asks for more
   * names than the ID token has, and never rejects.
   */
  verifyCallback(search: string, secrets: SignInSecrets): Promise<{ identity: Identity; loadNames: () => Promise<SuggestedNames> }>;
}

/** Makes the secrets of a sign-in. */
export const createSignInSecrets = (): SignInSecrets => ({
  state: oidc.randomState(),
  nonce: oidc.randomNonce(),
  verifier: oidc.randomPKCECodeVerifier(),
});

/** Sends the requests of the library through the guarded client. A response that says that the provider is unavailable counts as none. */
const createFetch =
  (outbound: Outbound): oidc.CustomFetch =>
  async (url, { method, headers, body }) => {
    const text = body instanceof URLSearchParams || typeof body === 'string' ? String(body) : null;
    const result = await outbound({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(text === null ? {} : { body: Buffer.from(text) }),
      timeoutMs: limits.signInRequestMs,
      maxBytes: limits.signInResponseBytes,
    });
    if (!result.ok) throw new OutboundError(result.step, result.reason);
    if (result.status >= 500 || result.status === 429) throw new OutboundError('status', `answered with status ${result.status}`);
    return new Response(result.body.length > 0 ? new Uint8Array(result.body) : null, { status: result.status, headers: result.headers });
  };

/** Identifies by the method that the provider supports; `client_secret_basic` is the default of the standard. */
const createClientAuth = (secret: string): oidc.ClientAuth => {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
};

/** Returns a function that loads the provider's metadata, and loads it again when it is old. While that fails, the old metadata is used. */
function createDiscovery({ issuer, clientId, clientSecret }: OpenIdClient, outbound: Outbound): () => Promise<oidc.Configuration> {
  const options = {
    [oidc.customFetch]: createFetch(outbound),
    // Signatures of ID tokens are checked, although they come over TLS from the provider itself.
    execute: [oidc.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [])],
  };
  let known: { configuration: oidc.Configuration; refreshAtMs: number } | null = null;
  let loading: Promise<oidc.Configuration> | null = null;
  const load = async (): Promise<oidc.Configuration> => {
    try {
      const configuration = await oidc.discovery(new URL(issuer), clientId, undefined, createClientAuth(clientSecret), options);
      known = { configuration, refreshAtMs: performance.now() + limits.signInMetadataMs };
      return configuration;
    } catch (error) {
      if (known === null) throw error;
      known.refreshAtMs = performance.now() + limits.signInMetadataRetryMs;
      return known.configuration;
    } finally {
      loading = null;
    }
  };
  return async () => {
    if (known !== null && performance.now() < known.refreshAtMs) return known.configuration;
    loading ??= load();
    return loading;
  };
}

/** The failure of a request, if `error` or what caused it is one. */
const findOutboundError = (error: unknown): OutboundError | null =>
  error instanceof OutboundError ? error : error instanceof Error ? findOutboundError(error.cause) : null;

/** The error code in a response of the provider; null for anything else, such as a code that is not one of the standards. */
const findProviderCode = (error: unknown): string | null => {
  const { error: code } = error as { error?: unknown };
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : null;
};

/** Whether a subject can identify somebody. Halves of surrogate pairs would be stored as the same character, so different subjects would be equal. */
export const isSubject = (subject: string): boolean =>
  subject.trim() !== '' && subject.length <= limits.signInSubjectChars && !/\p{Surrogate}/u.test(subject);

/** Claims of the ID token or of the provider's user information. */
const toNames = (claims: Readonly<Record<string, unknown>>): SuggestedNames => {
  const read = (name: string): string | null => (typeof claims[name] === 'string' ? claims[name] : null);
  return { username: read('preferred_username') ?? read('nickname'), displayName: read('name') };
};

/**
 * Creates the client of a provider. Its metadata is loaded at the first sign-in, so the provider may be away when this process starts. `outbound` sends the
 * requests.
 */
export function createOpenIdProvider(client: OpenIdClient, outbound: Outbound, log: Logger): OpenIdProvider {
  const discover = createDiscovery(client, outbound);
  /** Logs a failure without the message of the library, which may contain what the provider sent. */
  const toFailure = (step: string, error: unknown): SignInFailure => {
    const outboundError = findOutboundError(error);
    const code = findProviderCode(error);
    const reason = outboundError || step === 'metadata' ? 'unavailable' : code === 'access_denied' ? 'denied' : 'invalid';
    const cause = outboundError
      ? `${outboundError.step}: ${outboundError.message}`
      : (code ?? (error as { code?: unknown }).code ?? 'unknown');
    if (reason !== 'denied') log.warn({ step, cause }, 'a sign-in by OpenID Connect failed');
    return new SignInFailure(reason);
  };
  const attempt = <T>(step: string, run: () => Promise<T>): Promise<T> =>
    run().catch((error: unknown) => {
      throw toFailure(step, error);
    });
  return {
    async createAuthorizationUrl({ state, nonce, verifier }) {
      const configuration = await attempt('metadata', discover);
      const challenge = await oidc.calculatePKCECodeChallenge(verifier);
      return oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: client.redirectUri,
        scope: 'openid profile',
        state,
        nonce,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }).href;
    },
    async verifyCallback(search, { state, nonce, verifier }) {
      const configuration = await attempt('metadata', discover);
      const url = new URL(client.redirectUri + search);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await attempt('token', () => oidc.authorizationCodeGrant(configuration, url, checks));
      const claims = tokens.claims() as oidc.IDToken; // `idTokenExpected` requires them
      if (!isSubject(claims.sub)) throw toFailure('subject', { code: 'not_valid' });
      return {
        identity: { issuer: claims.iss, subject: claims.sub },
        loadNames: async () => {
          if (typeof claims.preferred_username === 'string' || !configuration.serverMetadata().userinfo_endpoint) return toNames(claims);
          return oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub).then(toNames, () => toNames(claims));
        },
      };
    },
  };
}

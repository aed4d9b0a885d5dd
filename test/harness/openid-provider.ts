import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type JWK, Provider } from 'oidc-provider';
import type { TestApi } from './api.ts';
import { page, sendPage } from './site.ts';

/** A provider of OpenID Connect that runs in the test: `oidc-provider` on a loopback port, with a login page that accepts every name. */
export interface TestProvider {
  issuer: string;
  /** The settings of an installation that uses this provider. */
  settings: Record<string, string>;
  /** The claims of each account besides its subject, which is the name that was entered in the login page. */
  people: Map<string, Record<string, unknown>>;
  /** How the provider misbehaves from now on. `away`: it closes every connection. `foreign keys`: it publishes other keys than it signs with. */
  fault: 'away' | 'foreign keys' | null;
  /** The client secret and all codes and tokens that the provider has issued. */
  secrets: string[];
  close(): Promise<void>;
}

/** A private key for RS256. All of them have the same id. */
const makeKey = (): JWK => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: 'signing', use: 'sig', alg: 'RS256' };
};

const clientSecret = 'a secret of the test client';

/** Answers the login page: whoever sends it is logged in under the entered name, or refuses with the name `refuse`. */
async function serveInteraction(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') {
    const form = '<form method="post"><label>Name <input name="login"></label><button>Continue</button></form>';
    return sendPage(response, page('Example login').replace('text', `<h1>Example login</h1>${form}`));
  }
  const accountId = new URLSearchParams(await text(request)).get('login') ?? '';
  const result = accountId === 'refuse' ? { error: 'access_denied', error_description: 'refused' } : { login: { accountId } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

/** Starts a provider for the installation with this public URL. */
export async function startOpenIdProvider(baseUrl = 'http://localhost:0'): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://localhost:${port}`;
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...foreignKey } = makeKey();
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'parlance', client_secret: clientSecret, redirect_uris: [`${baseUrl}/api/auth/oidc/callback`] }],
    jwks: { keys: [makeKey()] },
    cookies: { keys: ['a key of the test'] },
    ttl: { AccessToken: 60, Grant: 600, IdToken: 60, Interaction: 600, Session: 600 },
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub, ...made.people.get(sub) }) }),
    loadExistingGrant: async ({ oidc }) => {
      const grant = new provider.Grant({ clientId: oidc.client?.clientId ?? '', accountId: oidc.session?.accountId ?? '' });
      grant.addOIDCScope('openid profile');
      await grant.save();
      return grant;
    },
  });
  const made: TestProvider = {
    issuer,
    settings: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: 'parlance',
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_NAME: 'Example SSO',
      OUTBOUND_ALLOW: `localhost:${port}`,
    },
    people: new Map(),
    fault: null,
    secrets: [clientSecret],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  provider.on('grant.success', ({ body }) => {
    const tokens = body as Record<string, unknown>;
    made.secrets.push(...['access_token', 'id_token'].map((name) => String(tokens[name])));
  });
  const handle = provider.callback();
  server.on('request', (request, response) => {
    const path = request.url ?? '';
    if (made.fault === 'away') return void request.socket.destroy();
    if (made.fault === 'foreign keys' && path === '/jwks')
      return void response.setHeader('content-type', 'application/jwk-set+json').end(JSON.stringify({ keys: [foreignKey] }));
    void (path.startsWith('/interaction/') ? serveInteraction(provider, request, response) : handle(request, response));
  });
  return made;
}

/** A browser without scripts: it keeps cookies by host and path, and sends the forms that it is told to send. */
export class FormBrowser {
  readonly #api: TestApi;
  readonly #cookies = new Map<string, { host: string; path: string; value: string }>();

  /** `api` answers for its public URL. */
  constructor(api: TestApi) {
    this.#api = api;
  }

  #toAddress(url: URL): string {
    const { baseUrl } = this.#api.platform.config;
    return url.origin === new URL(baseUrl).origin ? this.#api.url + url.pathname + url.search : url.href;
  }

  #keep(url: URL, setCookies: readonly string[]): void {
    for (const line of setCookies) {
      const [pair = '', ...attributes] = line.split('; ');
      const at = pair.indexOf('=');
      const path = attributes.find((one) => one.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
      const key = `${url.host} ${path} ${pair.slice(0, at)}`;
      const isOver =
        attributes.includes('Max-Age=0') || at + 1 === pair.length || attributes.some((one) => one.startsWith('expires=Thu, 01 Jan 1970'));
      if (isOver) this.#cookies.delete(key);
      else this.#cookies.set(key, { host: url.host, path, value: pair });
    }
  }

  /** The cookies for a URL, as a header. */
  cookiesFor(url: URL): string {
    const sent = [...this.#cookies.values()].filter(({ host, path }) => host === url.host && url.pathname.startsWith(path));
    return sent.map(({ value }) => value).join('; ');
  }

  /** Takes over all cookies of `other`. */
  copyCookies(other: FormBrowser): void {
    for (const [key, cookie] of other.#cookies) this.#cookies.set(key, cookie);
  }

  /** Deletes the cookies with this name. */
  forget(name: string): void {
    for (const [key, { value }] of this.#cookies) if (value.startsWith(`${name}=`)) this.#cookies.delete(key);
  }

  /** Opens a URL, or a path of the API, without following redirects; with a `form` by POST. */
  async open(where: string, form?: Record<string, string>): Promise<{ status: number; location: string; headers: Headers }> {
    const url = new URL(where, this.#api.platform.config.baseUrl);
    const response = await fetch(this.#toAddress(url), {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { Cookie: this.cookiesFor(url) },
      ...(form ? { body: new URLSearchParams(form) } : {}),
    });
    this.#keep(url, response.headers.getSetCookie());
    await response.arrayBuffer();
    const location = response.headers.get('location');
    return { status: response.status, location: location === null ? '' : new URL(location, url).href, headers: response.headers };
  }

  /** Sends JSON to the API with the cookies of this browser. */
  async send<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: T; headers: Headers }> {
    const url = new URL(path, this.#api.platform.config.baseUrl);
    const headers = { Cookie: this.cookiesFor(url), Origin: url.origin };
    const answer = await this.#api.call<T>(method, path, { body, headers });
    this.#keep(url, answer.headers.getSetCookie());
    return answer;
  }

  /**
   * Begins a sign-in and logs in to the provider as `login`. Returns the URL with which the provider sends the browser back. `change` changes the parameters with
   * which the browser comes to the provider.
   */
  async logInAtProvider(login: string, query = '', change: Record<string, string> = {}): Promise<string> {
    const { baseUrl } = this.#api.platform.config;
    const started = new URL((await this.open(`/api/auth/oidc/start${query}`)).location);
    for (const [name, value] of Object.entries(change)) started.searchParams.set(name, value);
    let location = started.href;
    for (let steps = 0; steps < 8 && !location.startsWith(baseUrl); steps++) {
      const isForm = new URL(location).pathname.startsWith('/interaction/');
      ({ location } = await this.open(location, isForm ? { login } : undefined));
    }
    return location;
  }

  /** A whole sign-in. Returns the path that it leads to. */
  async signIn(login: string, query = ''): Promise<string> {
    const { location } = await this.open(await this.logInAtProvider(login, query));
    const { pathname, search } = new URL(location);
    return pathname + search;
  }
}

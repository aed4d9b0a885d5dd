import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from '../base/addresses.ts';

/** The steps at which an outbound request can fail, in order (docs/behavior/interactions.md#saving-a-url). */
export type OutboundStep = 'url' | 'dns' | 'connect' | 'tls' | 'status' | 'body';

/** The failure of an outbound request: the step, and a reason that contains no address of the internal network. */
export class OutboundError extends Error {
  readonly step: OutboundStep;
  /** The host:port of a private host, as in its URL, which OUTBOUND_ALLOW would have to contain; null if the failure has another cause. */
  readonly allowablePair: string | null;
  constructor(step: OutboundStep, reason: string, allowablePair: string | null = null) {
    super(reason);
    this.step = step;
    this.allowablePair = allowablePair;
  }
}

/** A short reason for the `error` that ended a connection: its code, such as ECONNREFUSED, or words if the code would mean nothing to the reader. */
export function describeCause(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'HTTPParserError') return 'not HTTP';
  return typeof code !== 'string' || code === 'UND_ERR_SOCKET' ? 'closed' : code;
}

/** The target of a request, according to its URL. */
export interface Target {
  readonly url: URL;
  /** The host for DNS and TLS: an address without brackets, or a name without a trailing dot. */
  readonly host: string;
  readonly port: number;
  readonly isHttps: boolean;
  /** Whether OUTBOUND_ALLOW contains exactly this host and port. */
  readonly isAllowed: boolean;
}

/** Resolves a name to its addresses; an empty list when there are none. Stops when `signal` aborts. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

const getPort = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));
const toHostPort = (url: URL): string => `${url.hostname}:${getPort(url)}`;

/** Whether a host is an address that is not public, or a name of this machine. */
const isPrivateHost = (host: string): boolean => (isIP(host) === 0 ? /(^|\.)localhost$/.test(host) : !isPublicAddress(host));

/** The host:port pairs of OUTBOUND_ALLOW, normalized as in a URL, for `parseTarget`. */
export const parseAllowedPairs = (list: readonly string[]): ReadonlySet<string> =>
  new Set(list.map((pair) => toHostPort(new URL(`http://${pair}`))));

/** The maximum length of a URL in characters. Servers need not accept longer ones, and some do not. */
const maxUrlChars = 8_192;

/**
 * Checks a URL before any network access. Throws `OutboundError` at step `url` for schemes other than https (http is accepted if `isHttpAllowed` is true or
 * `allowedPairs` has the host and port), for a username or password, for URLs that are too long, and for addresses that are not public, in every notation that
 * URLs allow.
 */
export function parseTarget(address: string, allowedPairs: ReadonlySet<string>, isHttpAllowed: boolean): Target {
  const url = address.length <= maxUrlChars && URL.canParse(address) ? new URL(address) : null;
  if (!url) throw new OutboundError('url', 'is not a URL');
  const isHttps = url.protocol === 'https:';
  if (!isHttps && url.protocol !== 'http:') throw new OutboundError('url', 'is not an https URL');
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname.replace(/\.$/, '');
  const isAllowed = allowedPairs.has(toHostPort(url));
  const allowablePair = isPrivateHost(host) ? toHostPort(url) : null;
  if (!isHttps && !isHttpAllowed && !isAllowed) throw new OutboundError('url', 'is not an https URL', allowablePair);
  if (url.username !== '' || url.password !== '') throw new OutboundError('url', 'must not contain a username or password');
  if (host === '') throw new OutboundError('url', 'has no host name');
  if (!isAllowed && isIP(host) !== 0 && allowablePair) throw new OutboundError('url', 'is not a public address', allowablePair);
  url.hash = '';
  return { url, host, port: getPort(url), isHttps, isAllowed };
}

/**
 * Queries the name servers for IPv4 and IPv6 addresses. It uses neither the hosts file nor the thread pool, where a lookup without an answer would delay file
 * access and password hashing. If one family fails, only the other is returned. `servers` are `address:port`; default: those of this machine.
 */
export const createDnsResolver =
  (servers?: readonly string[]): Resolve =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 750, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const results = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };

/** Resolves a name as this machine does, hosts file included. Used for hosts that OUTBOUND_ALLOW contains. */
const resolveLocally: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Resolves as `promise` does, but rejects as soon as `signal` aborts. */
const abortable = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new Error('timed out'));
    signal.addEventListener('abort', abort, { once: true });
  });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
};

/**
 * The addresses that a request may connect to, at most four, IPv4 first. Throws `OutboundError` at step `dns` for a name without addresses, and for a name with
 * any address that is not public, unless OUTBOUND_ALLOW contains its host and port.
 */
export async function resolveAddresses(target: Target, resolve: Resolve | undefined, signal: AbortSignal): Promise<readonly string[]> {
  const { host, isAllowed, url } = target;
  if (isIP(host) !== 0) return [host];
  const resolveHost = resolve ?? (isAllowed ? resolveLocally : createDnsResolver());
  const addresses = await abortable(resolveHost(host, signal), signal).catch((error: Error & { code?: string }) => {
    throw new OutboundError('dns', signal.aborted ? 'timed out' : `the host was not found (${error.code ?? 'no answer'})`);
  });
  if (addresses.length === 0) throw new OutboundError('dns', 'the host was not found');
  if (!isAllowed && !addresses.every(isPublicAddress))
    throw new OutboundError('dns', 'the host has an address that is not public', toHostPort(url));
  return addresses.toSorted((address, other) => isIP(address) - isIP(other)).slice(0, 4);
}

import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from '../base/addresses.ts';

/** The steps at which an outbound request can fail, in order (docs/behavior/interactions.md#saving-a-url). */
export type OutboundStep = 'url' | 'dns' | 'connect' | 'tls' | 'status' | 'body';

/** The failure of an outbound request: the step, and a reason that contains no address of the internal network. */
export class OutboundFault extends Error {
  readonly step: OutboundStep;
  constructor(step: OutboundStep, reason: string) {
    super(reason);
    this.step = step;
  }
}

/** A short reason for the `error` that ended a connection: its code, such as ECONNREFUSED, or words if the code would mean nothing to the reader. */
export function causeOf(error: unknown): string {
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
  readonly secure: boolean;
  /** Whether OUTBOUND_ALLOW contains exactly this host and port. */
  readonly allowed: boolean;
}

/** Resolves a name to its addresses; an empty list when there are none. Stops when `signal` aborts. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));
const pairOf = (url: URL): string => `${url.hostname}:${portOf(url)}`;

/** The host:port pairs of OUTBOUND_ALLOW, normalized as in a URL, for `targetOf`. */
export const allowedPairs = (list: readonly string[]): ReadonlySet<string> =>
  new Set(list.map((pair) => pairOf(new URL(`http://${pair}`))));

/** The maximum length of a URL in characters. Servers need not accept longer ones, and some do not. */
const urlChars = 8_192;

/**
 * Checks a URL before any network access. Throws `OutboundFault` at step `url` for schemes other than https (http is accepted if `http` is true or `allow` has
 * the host and port), for a username or password, for URLs that are too long, and for addresses that are not public, in every notation that URLs allow.
 */
export function targetOf(address: string, allow: ReadonlySet<string>, http: boolean): Target {
  const url = address.length <= urlChars && URL.canParse(address) ? new URL(address) : null;
  if (!url) throw new OutboundFault('url', 'is not a URL');
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') throw new OutboundFault('url', 'is not an https URL');
  const allowed = allow.has(pairOf(url));
  if (!secure && !http && !allowed) throw new OutboundFault('url', 'is not an https URL');
  if (url.username !== '' || url.password !== '') throw new OutboundFault('url', 'must not contain a username or password');
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname.replace(/\.$/, '');
  if (host === '') throw new OutboundFault('url', 'has no host name');
  if (!allowed && isIP(host) !== 0 && !isPublicAddress(host)) throw new OutboundFault('url', 'is not a public address');
  url.hash = '';
  return { url, host, port: portOf(url), secure, allowed };
}

/**
 * Queries the name servers for IPv4 and IPv6 addresses. It uses neither the hosts file nor the thread pool, where a lookup without an answer would delay file
 * access and password hashing. If one family fails, only the other is returned. `servers` are `address:port`; default: those of this machine.
 */
export const askNameServers =
  (servers?: readonly string[]): Resolve =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 750, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };

/** Resolves a name as this machine does, hosts file included. Used for hosts that OUTBOUND_ALLOW contains. */
const askMachine: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Resolves as `promise` does, but rejects as soon as `signal` aborts. */
const before = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  let stop = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(new Error('timed out'));
    signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([promise, ended]).finally(() => signal.removeEventListener('abort', stop));
};

/**
 * The addresses that a request may connect to, at most four, IPv4 first. Throws `OutboundFault` at step `dns` for a name without addresses, and for a name with
 * any address that is not public, unless OUTBOUND_ALLOW contains its host and port.
 */
export async function addressesOf(target: Target, resolve: Resolve | undefined, signal: AbortSignal): Promise<readonly string[]> {
  const { host, allowed } = target;
  if (isIP(host) !== 0) return [host];
  const ask = resolve ?? (allowed ? askMachine : askNameServers());
  const found = await before(ask(host, signal), signal).catch((error: Error & { code?: string }) => {
    throw new OutboundFault('dns', signal.aborted ? 'timed out' : `the host was not found (${error.code ?? 'no answer'})`);
  });
  if (found.length === 0) throw new OutboundFault('dns', 'the host was not found');
  if (!allowed && !found.every(isPublicAddress)) throw new OutboundFault('dns', 'the host has an address that is not public');
  return found.toSorted((one, other) => isIP(one) - isIP(other)).slice(0, 4);
}

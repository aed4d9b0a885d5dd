import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from '../base/addresses.ts';

/** The steps at which an outbound request can fail, in order (docs/behavior/interactions.md#saving-a-url). */
export type OutboundStep = 'url' | 'dns' | 'connect' | 'tls' | 'status' | 'body';

/** An outbound request that failed: at which step, and in words that name no address of the inner network. */
export class OutboundFault extends Error {
  readonly step: OutboundStep;
  constructor(step: OutboundStep, reason: string) {
    super(reason);
    this.step = step;
  }
}

/** What is wrong with a connection, by the `error` that it ended with: a code such as ECONNREFUSED, or words where that would say nothing to who reads it. */
export function causeOf(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (name === 'HTTPParserError') return 'not HTTP';
  return typeof code !== 'string' || code === 'UND_ERR_SOCKET' ? 'closed' : code;
}

/** Where a request goes, as far as its URL tells. */
export interface Target {
  readonly url: URL;
  /** The host as it is resolved and named in TLS: an address without brackets, or a name without a final dot. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** Whether OUTBOUND_ALLOW names this very host and port. */
  readonly allowed: boolean;
}

/** Finds the addresses of a name; an empty list when there are none. Ends when `signal` says so. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));
const pairOf = (url: URL): string => `${url.hostname}:${portOf(url)}`;

/** The pairs of OUTBOUND_ALLOW as `targetOf` compares them: spelled as a URL spells them. */
export const allowedPairs = (list: readonly string[]): ReadonlySet<string> =>
  new Set(list.map((pair) => pairOf(new URL(`http://${pair}`))));

/** Longer URLs are refused: no other server has to take them, and some do not. */
const urlChars = 8_192;

/**
 * Checks a URL before anything is asked of the network. Refuses, at step `url`: other schemes than https (and http where `http` or `allow` lets it), user
 * info, overlong URLs, and addresses that are not public, in any spelling a URL has for them.
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
 * Asks the name servers for both families, without the hosts file and without the thread pool, where a name that nobody answers for would hold up files and
 * passwords. One family that cannot be had is left out. `servers` are `address:port`; default: those of this machine.
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

/** As this machine resolves names, hosts file included: for what the operator named. */
const askMachine: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** `promise`, or a rejection as soon as `signal` says so. */
const before = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  let stop = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(new Error('timed out'));
    signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([promise, ended]).finally(() => signal.removeEventListener('abort', stop));
};

/**
 * The addresses that a request may connect to, at most four, IPv4 first. Refuses, at step `dns`, a name without addresses, and one of which even a single
 * address is not public, unless OUTBOUND_ALLOW names its host and port.
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

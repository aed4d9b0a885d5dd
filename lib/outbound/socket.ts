import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { isPublicAddress, isSameAddress } from '../base/addresses.ts';
import { causeOf, OutboundFault, type OutboundStep, type Target } from './target.ts';

/** Waits for `event`. Destroys the socket when that fails. */
async function reach(socket: Socket, event: 'connect' | 'secureConnect', step: OutboundStep, signal: AbortSignal): Promise<void> {
  socket.on('error', () => undefined); // readers of the socket see errors that come after this wait
  try {
    await once(socket, event, { signal });
  } catch (error) {
    socket.destroy();
    throw new OutboundFault(step, signal.aborted ? 'timed out' : `failed (${causeOf(error)})`);
  }
}

async function connectTo(address: string, target: Target, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port: target.port, noDelay: true });
  await reach(socket, 'connect', 'connect', signal);
  const remote = socket.remoteAddress ?? '';
  if (isSameAddress(remote, address) && (target.allowed || isPublicAddress(remote))) return socket;
  socket.destroy();
  throw new OutboundFault('connect', 'the connection went to an address that is not public');
}

/**
 * Connects to the first of the checked `addresses` that answers, and checks the address of the connection again. The time that is left is divided evenly among
 * the addresses. For https, the certificate must be valid for the host and be issued by an authority of `trust`; `securing` is called when TLS begins. Throws
 * `OutboundFault` at step `connect` or `tls`.
 */
export async function dial(
  target: Target,
  addresses: readonly string[],
  { signal, endsAt, trust, securing }: { signal: AbortSignal; endsAt: number; trust: SecureContext; securing: () => void },
): Promise<Socket> {
  let socket: Socket | undefined;
  for (const [at, address] of addresses.entries()) {
    const share = Math.max(1, Math.floor((endsAt - performance.now()) / (addresses.length - at)));
    try {
      socket = await connectTo(address, target, AbortSignal.any([signal, AbortSignal.timeout(share)]));
      break;
    } catch (error) {
      if (signal.aborted || at === addresses.length - 1) throw error;
    }
  }
  if (!socket) throw new OutboundFault('connect', 'no address');
  if (!target.secure) return socket;
  securing();
  const { host } = target;
  const secured = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    secureContext: trust,
  });
  await reach(secured, 'secureConnect', 'tls', signal);
  return secured;
}

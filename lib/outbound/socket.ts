import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { isPublicAddress, isSameAddress } from '../base/addresses.ts';
import { describeCause, OutboundError, type OutboundStep, type Target } from './target.ts';

/** Waits for `event`. Destroys the socket when that fails. */
async function waitForEvent(socket: Socket, event: 'connect' | 'secureConnect', step: OutboundStep, signal: AbortSignal): Promise<void> {
  socket.on('error', () => undefined); // readers of the socket see errors that come after this wait
  try {
    await once(socket, event, { signal });
  } catch (error) {
    socket.destroy();
    throw new OutboundError(step, signal.aborted ? 'timed out' : `failed (${describeCause(error)})`);
  }
}

async function connectTo(address: string, target: Target, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port: target.port, noDelay: true });
  await waitForEvent(socket, 'connect', 'connect', signal);
  const remoteAddress = socket.remoteAddress ?? '';
  if (isSameAddress(remoteAddress, address) && (target.isAllowed || isPublicAddress(remoteAddress))) return socket;
  socket.destroy();
  throw new OutboundError('connect', 'the connection went to an address that is not public');
}

/**
 * Connects to the first of the checked `addresses` that answers, and checks the address of the connection again. The time that is left is divided evenly among
 * the addresses. For https, the certificate must be valid for the host and be issued by an authority of `secureContext`; `onTlsStart` is called when TLS
 * begins. Throws `OutboundError` at step `connect` or `tls`.
 */
export async function connectSocket(
  target: Target,
  addresses: readonly string[],
  {
    signal,
    deadlineMs,
    secureContext,
    onTlsStart,
  }: { signal: AbortSignal; deadlineMs: number; secureContext: SecureContext; onTlsStart: () => void },
): Promise<Socket> {
  let socket: Socket | undefined;
  for (const [index, address] of addresses.entries()) {
    const timeoutMs = Math.max(1, Math.floor((deadlineMs - performance.now()) / (addresses.length - index)));
    try {
      socket = await connectTo(address, target, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
      break;
    } catch (error) {
      if (signal.aborted || index === addresses.length - 1) throw error;
    }
  }
  if (!socket) throw new OutboundError('connect', 'no address');
  if (!target.isHttps) return socket;
  onTlsStart();
  const { host } = target;
  const tlsSocket = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    secureContext,
  });
  await waitForEvent(tlsSocket, 'secureConnect', 'tls', signal);
  return tlsSocket;
}

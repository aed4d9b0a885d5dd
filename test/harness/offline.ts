import { Resolver } from 'node:dns/promises';
import { Socket } from 'node:net';

// Loaded with the configuration of every test: any connection that would leave this machine fails at once (CONTRIBUTING.md#tests).
const loopback = /^(localhost|127(\.\d+){3}|::1|0\.0\.0\.0|::)?$/;
const prototype = Socket.prototype as { connect: (this: Socket, ...args: unknown[]) => Socket };
const { connect } = prototype;

/** The host argument of `connect(options | port, host?)`; empty for a path or this machine. Node wraps its own calls in an array. */
function hostOf([first, second]: readonly unknown[]): string {
  if (Array.isArray(first)) return hostOf(first);
  if (typeof first === 'object' && first !== null) return 'host' in first && typeof first.host === 'string' ? first.host : '';
  return typeof first === 'number' && typeof second === 'string' ? second : '';
}

prototype.connect = function guarded(...args) {
  const host = hostOf(args);
  if (loopback.test(host)) return connect.apply(this, args);
  process.nextTick(() => this.destroy(new Error(`a test may not connect to ${host}`)));
  return this;
};

// DNS queries use UDP, without a socket of `node:net`, so they are guarded separately.
for (const ask of ['resolve4', 'resolve6'] as const) {
  const asks = Resolver.prototype[ask] as (this: Resolver, host: string) => Promise<string[]>;
  const guarded = function (this: Resolver, host: string): Promise<string[]> {
    const here = this.getServers().every((server) => /^127\.0\.0\.1(:\d+)?$/.test(server));
    return here ? asks.call(this, host) : Promise.reject(new Error(`a test may not ask for ${host}`));
  };
  Object.assign(Resolver.prototype, { [ask]: guarded });
}

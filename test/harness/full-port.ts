import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A loopback port whose accept queue is full: a connection to it is neither accepted nor refused. */
export interface FullPort {
  port: number;
  close(): void;
}

// The process listens and then blocks its event loop, so only the kernel holds incoming connections.
const listens = `
const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, server.address().port + '\\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

async function portOf(child: ChildProcess): Promise<number> {
  let said = '';
  child.stdout?.on('data', (piece: Buffer) => {
    said += piece.toString();
  });
  while (!said.includes('\n') && child.stdout) await once(child.stdout, 'data');
  return Number(said);
}

/** Makes a full port: opens connections until the queue is full. */
export async function fillPort(): Promise<FullPort> {
  const child = spawn(process.execPath, ['-e', listens], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await portOf(child);
  const sockets: Socket[] = [];
  // The kernel accepts one connection more than the backlog; further ones wait forever.
  for (let n = 0; n < 2; n++) {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
  }
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}

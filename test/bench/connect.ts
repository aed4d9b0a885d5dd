import { WebSocket } from 'ws';

/** Connects a session and ends it again. Returns the time until READY, in milliseconds. */
export async function timeConnect(url: string, token: string): Promise<number> {
  const began = performance.now();
  const socket = new WebSocket(url, { perMessageDeflate: false });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', (code) => reject(new Error(`closed with ${code} before READY`)));
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { op: number; t?: string };
      if (frame.op === 10) socket.send(JSON.stringify({ op: 2, d: { token } }));
      else if (frame.t === 'READY') resolve();
    });
  });
  const ms = performance.now() - began;
  socket.close(1000);
  await closed;
  return ms;
}

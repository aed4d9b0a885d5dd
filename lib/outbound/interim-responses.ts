import type { Socket } from 'node:net';

const statusLine = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
/** The length of `HTTP/1.1 100 `, from which on it is known whether a response is an interim one. */
const statusLineBytes = 13;
const endOfHeaders = '\r\n\r\n';

/**
 * Returns a function that lets `socket` skip the interim responses (100 Continue and other 1xx, but not 101) that a server sends before its next response.
 * Servers may send them unasked, and undici takes a 100 for a fault. At most `maxBytes` are skipped. Call it before anything of that response is read.
 */
export function createInterimSkipper(socket: Socket, maxBytes: number): () => void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let held: Buffer = Buffer.alloc(0);
  let skippedBytes = 0;
  let isDone = true;
  const take = (): Buffer | null => {
    for (;;) {
      const start = held.subarray(0, statusLineBytes).toString('latin1');
      const isInterim = statusLine.test(start);
      if (!isInterim && held.length < statusLineBytes && 'HTTP/1.'.startsWith(start.slice(0, 7))) return null;
      const end = isInterim ? held.indexOf(endOfHeaders) : -1;
      if (isInterim && end < 0 && skippedBytes + held.length < maxBytes) return null;
      if (end < 0 || skippedBytes > maxBytes) {
        isDone = true;
        return held;
      }
      skippedBytes += end + endOfHeaders.length;
      held = held.subarray(end + endOfHeaders.length);
      if (held.length === 0) return null;
    }
  };
  socket.read = (size?: number): Buffer | null => {
    if (isDone) return read(size);
    for (let chunk = read(); chunk !== null; chunk = read()) {
      held = Buffer.concat([held, chunk]);
      const bytes = take();
      if (bytes) return bytes;
    }
    return null;
  };
  return () => {
    held = Buffer.alloc(0);
    skippedBytes = 0;
    isDone = false;
  };
}

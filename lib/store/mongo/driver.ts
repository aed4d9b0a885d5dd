import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

// The driver is a dependency of mongoose. `mongo` of mongoose has only what the driver exports.
const require = createRequire(createRequire(import.meta.url).resolve('mongoose'));

/** The driver's error for a command for which no connection became free in time. The driver does not export it. */
export const { WaitQueueTimeoutError } = require('mongodb/lib/cmap/errors.js') as {
  WaitQueueTimeoutError: new (message: string, address: string) => Error;
};

/** The members of the database driver's connections that are used here. They are not part of its public interface. */
interface DriverConnection {
  socket: Socket;
  /** Called once the socket is closed. Fails the commands that wait on the connection, and refuses later ones. */
  onClose: (this: DriverConnection) => void;
}

/**
 * Works around a bug of the database driver (mongodb 7.8 and 7.9): a command can wait forever, whatever its timeout. If that happens to a health check, the
 * process never finds the database again. The cause: a socket whose other end has closed accepts no data once it is destroyed, but emits `close` only some
 * callbacks later. A command that is written in between waits for `drain` or `error`, and neither is emitted. This emits `drain` after `close`, so that such a
 * command checks the connection and fails with its error. Call it once, before the first connection.
 */
export function patchConnectionClose(): void {
  const { prototype } = require('mongodb/lib/cmap/connection.js').Connection as { prototype: DriverConnection };
  const { onClose } = prototype;
  prototype.onClose = function (): void {
    onClose.call(this);
    this.socket.emit('drain');
  };
}

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** What is used of the database driver's connections, which are not part of its public interface. */
interface DriverConnection {
  socket: Socket;
  /** Called once the socket is closed: ends what the connection waits for, and refuses what comes after. */
  onClose: (this: DriverConnection) => void;
}

/**
 * Corrects a fault of the database driver (mongodb 7.8 and 7.9), in which a command waits for ever whatever its deadline is, and a health check too, after which
 * the process never finds the database again. A socket whose other end has closed takes nothing from the moment it is destroyed, and says so with `close` some
 * callbacks later. A command that is written in between waits for `drain` or `error`, of which neither comes. So `drain` is told after `close`: what waited looks
 * at the connection then, and fails with its error. Call it once, before the first connection.
 */
export function wakeWritersAtClose(): void {
  const require = createRequire(createRequire(import.meta.url).resolve('mongoose'));
  const { prototype } = require('mongodb/lib/cmap/connection.js').Connection as { prototype: DriverConnection };
  const { onClose } = prototype;
  prototype.onClose = function (): void {
    onClose.call(this);
    this.socket.emit('drain');
  };
}

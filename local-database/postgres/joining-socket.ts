import { Socket } from 'node:net';

/**
 * A socket that sends everything written while it is corked as one chunk. A query is four short messages, and passing each to the operating system costs more
 * than copying them into one buffer.
 */
export class JoiningSocket extends Socket {
  #pieces: Uint8Array[] | undefined;

  override cork(): void {
    this.#pieces ??= [];
  }

  override uncork(): void {
    const pieces = this.#pieces;
    this.#pieces = undefined;
    if (pieces && pieces.length > 0) super.write(Buffer.concat(pieces));
  }

  override write(piece: Uint8Array | string, ...rest: never[]): boolean {
    if (!this.#pieces || typeof piece === 'string') return super.write(piece, ...rest);
    this.#pieces.push(piece);
    return true;
  }
}

import { Socket } from 'node:net';

/**
 * A socket that sends in one piece what is written while it is corked: a query is four short messages, and handing each to the system costs
 * more than copying them together.
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

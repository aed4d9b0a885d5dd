/** Splits a byte stream into length-prefixed frames. A frame that arrives in one chunk is not copied. */
export class FrameReader {
  readonly #headBytes: number;
  readonly #sizeAt: (chunk: Buffer, at: number) => number;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #neededBytes = 0;

  /** `sizeAt` returns the total size of the frame whose first `headBytes` bytes are at offset `at`. `push` throws what it throws. */
  constructor(headBytes: number, sizeAt: (chunk: Buffer, at: number) => number) {
    this.#headBytes = headBytes;
    this.#sizeAt = sizeAt;
  }

  /** Adds the next bytes and calls `onFrame` for each frame that they complete. */
  push(arrived: Buffer, onFrame: (frame: Buffer) => void): void {
    let chunk = arrived;
    if (this.#rest.length > 0) {
      this.#rest.push(arrived);
      this.#restBytes += arrived.length;
      if (this.#restBytes < this.#neededBytes) return;
      chunk = Buffer.concat(this.#rest, this.#restBytes);
      this.#rest = [];
    }
    let at = 0;
    this.#neededBytes = this.#headBytes;
    while (chunk.length - at >= this.#headBytes) {
      const size = this.#sizeAt(chunk, at);
      if (chunk.length - at < size) {
        this.#neededBytes = size;
        break;
      }
      onFrame(chunk.subarray(at, at + size));
      at += size;
      this.#neededBytes = this.#headBytes;
    }
    if (at === chunk.length) return;
    this.#rest = [chunk.subarray(at)];
    this.#restBytes = chunk.length - at;
  }
}

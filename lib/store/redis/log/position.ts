import { limits } from '../../../base/limits.ts';
import { epochSize, getEpoch } from './epochs.ts';

/**
 * What a client has received: the last number of each partition, and in `placeNumbers` the last number of each place that the client's session joined late. For
 * clients it is opaque text.
 */
export interface Position {
  readonly numbers: readonly number[];
  readonly placeNumbers: ReadonlyMap<string, number>;
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

/** Encodes the numbers as text: with one partition the number itself, else the epochs and counts as varints in base64url. */
export function writeNumbers(numbers: readonly number[]): string {
  if (numbers.length === 1) return String(numbers[0]);
  const bytes: number[] = [];
  for (const number of numbers) {
    pushVarint(bytes, getEpoch(number));
    pushVarint(bytes, number % epochSize);
  }
  return Buffer.from(bytes).toString('base64url');
}

/** Encodes a position as text. `numbers` is the result of `writeNumbers`. */
export const writePosition = (numbers: string, placeNumbers: Position['placeNumbers']): string =>
  [numbers, ...[...placeNumbers].map(([place, number]) => `${place}=${number}`)].join('~');

function readNumbers(text: string, partitions: number): number[] | null {
  if (partitions === 1) return /^\d{1,16}$/.test(text) ? [Number(text)] : null;
  if (!/^[\w-]*$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  let offset = 0;
  const read = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[offset++];
      if (byte === undefined) return Number.NaN;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  const numbers = Array.from({ length: partitions }, () => read() * epochSize + read());
  return offset === bytes.length && numbers.every(Number.isSafeInteger) ? numbers : null;
}

/** Parses a position of a log with `partitions` partitions; null when `value` is not a position. */
export function readPosition(value: unknown, partitions: number): Position | null {
  if (typeof value !== 'string' || value.length > limits.gatewayPositionChars) return null;
  const [text = '', ...places] = value.split('~');
  const numbers = readNumbers(text, partitions);
  const placeNumbers = places.map((placeText) => /^((?:server|account):\d{1,20})=(\d{1,16})$/.exec(placeText));
  if (!numbers?.every(Number.isSafeInteger) || placeNumbers.includes(null)) return null;
  return { numbers, placeNumbers: new Map(placeNumbers.map((match) => [match?.[1] ?? '', Number(match?.[2])])) };
}

import { InvalidArgumentError } from 'commander';

/** Returns a parser of numbers from 1 to `max`, for the command line. `alternatives` ends the error, and says what else is allowed. */
export const parseNumber =
  (max: number, alternatives = '') =>
  (text: string): number => {
    const number = Number(text);
    const isNumber = /^\d+$/.test(text) && text.length <= String(max).length;
    if (!isNumber || number < 1 || number > max) throw new InvalidArgumentError(`Use a number from 1 to ${max}${alternatives}.`);
    return number;
  };

import { limits } from '../../../../lib/base/limits.ts';

const megabyte = 1024 * 1024;

/** Returns for each file why it cannot be sent, or null. A file must not be empty or larger than 10 MB, and a message takes at most ten files. */
export function fileFaults(files: readonly { size: number }[]): (string | null)[] {
  let fit = 0;
  return files.map(({ size }) => {
    if (size === 0) return 'This file is empty.';
    if (size > limits.fileBytes) return `Larger than ${limits.fileBytes / megabyte} MB.`;
    return ++fit > limits.filesPerMessage ? `One too many: a message takes ${limits.filesPerMessage} files.` : null;
  });
}

import { limits } from '../../../../lib/base/limits.ts';

const megabyte = 1024 * 1024;

/** Why each file cannot be sent, or null: it is empty, larger than 10 MB, or beyond the tenth that can be sent. */
export function fileFaults(files: readonly { size: number }[]): (string | null)[] {
  let fit = 0;
  return files.map(({ size }) => {
    if (size === 0) return 'This file is empty.';
    if (size > limits.fileBytes) return `Larger than ${limits.fileBytes / megabyte} MB.`;
    return ++fit > limits.filesPerMessage ? `One too many: a message takes ${limits.filesPerMessage} files.` : null;
  });
}

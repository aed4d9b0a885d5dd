import { limits } from '../../../../lib/base/limits.ts';
import { sizeOf } from '../../ui/sizes.ts';

/** Returns for each file why it cannot be sent, or null. A file must not be empty or larger than `limits.fileBytes`, and a message takes at most `limits.filesPerMessage` files. */
export function fileErrors(files: readonly { size: number }[]): (string | null)[] {
  let fit = 0;
  return files.map(({ size }) => {
    if (size === 0) return 'This file is empty.';
    if (size > limits.fileBytes) return `This file is larger than ${sizeOf(limits.fileBytes)}.`;
    return ++fit > limits.filesPerMessage ? `A message can have at most ${limits.filesPerMessage} files.` : null;
  });
}

import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';

/** The uploads under way in this process: each may take 100 MiB of the local disk. */
export interface UploadSlots {
  /** Takes a place for `caller`; refuses `rate_limited` when it, or the process, has as many as it may. The answer gives the place back. */
  take(caller: string): () => void;
}

/** At most 32 uploads at once in a process, 10 of them of one caller. */
export function createUploadSlots(): UploadSlots {
  const byCaller = new Map<string, number>();
  let all = 0;
  return {
    take(caller) {
      const own = byCaller.get(caller) ?? 0;
      if (all >= limits.uploadsAtOnce || own >= limits.uploadsPerCaller) refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 });
      byCaller.set(caller, own + 1);
      all++;
      return () => {
        const left = (byCaller.get(caller) ?? 1) - 1;
        if (left === 0) byCaller.delete(caller);
        else byCaller.set(caller, left);
        all--;
      };
    },
  };
}

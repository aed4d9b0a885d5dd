import type { Actor } from '../../lib/domain/access/checks.ts';
import type { CountedRate } from '../../lib/store/redis/preflight.ts';

/** The Koa state that middleware and routes share during a request. */
export interface State {
  requestId: string;
  /** How many bytes its connection had received when the request began: all before it, its headers, and up to 64 KiB of its body. */
  bytesReadBefore: number;
  /** The route's path with parameters in braces, once it is known. */
  route?: string;
  actor?: Actor | null;
  /** The last bucket that the request was counted in. */
  rate?: CountedRate;
  /** Whether the path is of a file that does not exist, and the request prefers a page to JSON. */
  isMissingFile?: true;
  /** Whether the request was charged to the bucket of its address as a refused one. */
  isChargedToAddress?: boolean;
}

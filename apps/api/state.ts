import type { Actor } from '../../lib/domain/access.ts';

/** What the layers of a request leave for those inside them. */
export interface State {
  requestId: string;
  /** The route's path with its holes, once it is known. */
  route?: string;
  actor?: Actor | null;
}

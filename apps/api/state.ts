import type { Actor } from '../../lib/domain/members/access.ts';

/** The Koa state that middleware and routes share during a request. */
export interface State {
  requestId: string;
  /** The route's path with parameters in braces, once it is known. */
  route?: string;
  actor?: Actor | null;
}

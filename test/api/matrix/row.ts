import type { ServerType } from '../../../lib/contract/server.ts';
import type { Caller } from '../../harness/factories.ts';
import type { Rule } from './roles.ts';
import type { Stage } from './stage.ts';

/** How a route is called: what stands in the holes of its path, in their order, and what is sent. */
export interface Call {
  at?: readonly string[];
  body?: unknown;
  headers?: Record<string, string>;
  /** Another credential than the caller's usual one. */
  as?: string;
}

/**
 * One row of the matrix: how a route is called, each time on new targets, who may call it, and the answer. Of the rules that refuse a role, the first one
 * decides its answer (docs/behavior/requests.md#visibility).
 */
export interface Row {
  /** Method and path, such as `GET /api/invites/{code}`. */
  route: string;
  /** Which case of the route this is, where it has several. */
  case?: string;
  who: readonly Rule[];
  /** What whoever passes all rules is answered. */
  status: number;
  /** The server's types meanwhile. */
  types?: ServerType[];
  /** What it is aimed at depends on the caller: one for each, also for those who are refused. */
  own?: true;
  call: (stage: Stage, caller: Caller) => Call | Promise<Call>;
}

/** What stands in a path or row as method and path, whatever its holes are named. */
export const keyOf = (route: string): string => route.replace(/\{\w+\}/g, '{}');

/** Rows of the form most have: who, route, status, call. */
export const row = (route: string, who: readonly Rule[], status: number, call: Row['call'], more: Partial<Row> = {}): Row => ({
  route,
  who,
  status,
  call,
  ...more,
});

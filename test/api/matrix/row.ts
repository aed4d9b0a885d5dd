import type { ServerType } from '../../../lib/contract/server.ts';
import type { Caller } from '../../harness/requests.ts';
import type { MatrixFixture } from './fixture.ts';
import type { Rule } from './roles.ts';

/** A request of a route: the values of the path parameters in their order, the body and headers. */
export interface Call {
  params?: readonly string[];
  body?: unknown;
  headers?: Record<string, string>;
  /** A credential instead of the caller's usual one. */
  as?: string;
}

/**
 * A row of the matrix: how a route is called, who may call it, and the status. Of the rules that refuse a role, the first one decides its result
 * (docs/behavior/requests.md#visibility).
 */
export interface Row {
  /** Method and path, such as `GET /api/invites/{code}`. */
  route: string;
  /** The case, for a route with several rows. */
  case?: string;
  who: readonly Rule[];
  /** The status for roles that all rules allow. */
  status: number;
  /** The server's types during the calls. */
  types?: ServerType[];
  /** The call depends on the caller, also for refused callers. */
  perCaller?: true;
  call: (fixture: MatrixFixture, caller: Caller) => Call | Promise<Call>;
}

/** Method and path without the names of the parameters, to compare routes. */
export const keyOf = (route: string): string => route.replace(/\{\w+\}/g, '{}');

/** Makes a row; `more` are its other fields, or its case. */
export const row = (route: string, who: readonly Rule[], status: number, call: Row['call'], more: string | Partial<Row> = {}): Row => ({
  route,
  who,
  status,
  call,
  ...(typeof more === 'string' ? { case: more } : more),
});

/** `call` with a body. */
export const withBody =
  (call: Row['call'], body: unknown): Row['call'] =>
  async (fixture, caller) => ({ ...(await call(fixture, caller)), body });

/** Calls with the fixture's server, channel or application as their parameter. */
export const serverCall = ({ serverId }: MatrixFixture): { params: string[] } => ({ params: [serverId] });
export const channelCall = ({ channelId }: MatrixFixture): { params: string[] } => ({ params: [channelId] });
export const applicationCall = ({ application: { applicationId } }: MatrixFixture): { params: string[] } => ({ params: [applicationId] });

/** A position above every role of the matrix. */
export const atTop = { position: 250 };

/** A token of the right form that belongs to nothing. */
export const wrongToken = 'A'.repeat(43);

import { expect } from 'chai';
import type { Answer, TestApi } from './api.ts';
import { expectError } from './expect-error.ts';

/** A user of the API: pass `as` to `api.call(…, { as })`. */
export interface Caller {
  id: string;
  username: string;
  token: string;
  as: string;
}

/** Sends a request and expects `status`; returns the body. */
export async function send<T>(api: TestApi, status: number, as: Caller | null, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await api.call<T>(method, path, { as: as?.as, body });
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).to.equal(status);
  return answer.body;
}

/** Sends a request and expects the error `status` with `code` in the common form; returns the error body. */
export async function refused(
  api: TestApi,
  [status, code]: readonly [status: number, code: string],
  as: Caller | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ code: string; message: string; missing?: string[]; errors?: { path: string; message: string }[]; retryAfter?: number }> {
  const answer = await api.call<Awaited<ReturnType<typeof refused>>>(method, path, { as: as?.as, body });
  const sent = body === undefined ? '' : JSON.stringify(body).slice(0, 200);
  expectError(answer, status, code, `${method} ${path} ${sent}`);
  return answer.body;
}

/** Sends a request and expects 403 missing_permission that names exactly `permissions`. */
export async function refusedWithout(
  api: TestApi,
  permissions: string | readonly string[],
  ...request: [as: Caller | null, method: string, path: string, body?: unknown]
): Promise<void> {
  const { missing } = await refused(api, [403, 'missing_permission'], ...request);
  expect(missing, request.slice(1, 3).join(' ')).to.deep.equal([permissions].flat());
}

/** Runs `act` `many` times at once; returns the results. */
export const inParallel = <T>(many: number, act: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: many }, (_, at) => act(at)));

/** The rate limit bucket that a request was charged to. */
export const bucketOf = ({ headers }: Pick<Answer, 'headers'>): string | null => headers.get('X-RateLimit-Bucket');

/** The number of responses with each status. */
export function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

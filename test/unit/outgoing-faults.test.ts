import { expect } from 'chai';
import { nextTry } from '../../apps/web/state/outgoing-faults.ts';

const minute = 60_000;
type Fault = Parameters<typeof nextTry>[0];
type Next = ReturnType<typeof nextTry>;
const fault = (status: number, code: string, retryAfter: number | null = null): Fault => ({ status, code, retryAfter });
const [lost, running, click] = [fault(0, 'unreachable'), fault(409, 'idempotency_conflict'), { again: 'click' } as const];

describe('nextTry after a failed post', () => {
  const rows: [what: string, error: Fault, ageMs: number, tries: number, next: Next][] = [
    ['retries after the retryAfter of a rate limit', fault(429, 'rate_limited', 7), 0, 1, { again: 'soon', afterMs: 7_000 }],
    ['waits for the user in slow mode', fault(429, 'slowmode', 7), 0, 1, click],
    ['retries soon while the first request is still running', running, 0, 1, { again: 'soon', afterMs: 1_000 }],
    ['waits for the user after a conflict that lasts a minute', running, minute, 9, click],
    ['retries without a response when the connection is back', lost, 0, 1, { again: 'live', afterMs: 2_000 }],
    ['retries after at most 30 s without a response for the twentieth time', lost, minute, 20, { again: 'live', afterMs: 30_000 }],
    ['retries after the retryAfter of 503', fault(503, 'unavailable', 5), 0, 1, { again: 'live', afterMs: 5_000 }],
    ['retries after 502 of a proxy', fault(502, ''), 0, 2, { again: 'live', afterMs: 4_000 }],
    ['waits for the user when the idempotency key may have expired', lost, 9 * minute, 1, click],
    ['waits for the user after a rate limit with an old key', fault(429, 'rate_limited', 1), 9 * minute, 1, click],
    ['waits for the user after a cancelled upload', fault(0, 'aborted'), 0, 1, click],
    ['waits for the user after 500', fault(500, ''), 0, 1, click],
    ['waits for the user after 403', fault(403, 'missing_permission'), 0, 1, click],
  ];
  for (const [what, error, ageMs, tries, next] of rows) it(what, () => expect(nextTry(error, ageMs, tries)).to.deep.equal(next));
});

import { expect } from 'chai';
import { nextTry } from '../../apps/web/state/outgoing-faults.ts';

const minute = 60_000;

describe('nextTry after a failed post', () => {
  const rows: [what: string, error: Parameters<typeof nextTry>[0], ageMs: number, tries: number, next: ReturnType<typeof nextTry>][] = [
    [
      'retries after the retryAfter of a rate limit',
      { status: 429, code: 'rate_limited', retryAfter: 7 },
      0,
      1,
      { again: 'soon', afterMs: 7_000 },
    ],
    ['waits for the user in slow mode', { status: 429, code: 'slowmode', retryAfter: 7 }, 0, 1, { again: 'click' }],
    [
      'retries soon while the first request is still running',
      { status: 409, code: 'idempotency_conflict', retryAfter: null },
      0,
      1,
      { again: 'soon', afterMs: 1_000 },
    ],
    [
      'waits for the user after a conflict that lasts a minute',
      { status: 409, code: 'idempotency_conflict', retryAfter: null },
      minute,
      9,
      { again: 'click' },
    ],
    [
      'retries without a response when the connection is back',
      { status: 0, code: 'unreachable', retryAfter: null },
      0,
      1,
      { again: 'live', afterMs: 2_000 },
    ],
    [
      'retries after at most 30 s without a response for the twentieth time',
      { status: 0, code: 'unreachable', retryAfter: null },
      minute,
      20,
      { again: 'live', afterMs: 30_000 },
    ],
    ['retries after the retryAfter of 503', { status: 503, code: 'unavailable', retryAfter: 5 }, 0, 1, { again: 'live', afterMs: 5_000 }],
    ['retries after 502 of a proxy', { status: 502, code: '', retryAfter: null }, 0, 2, { again: 'live', afterMs: 4_000 }],
    [
      'waits for the user when the idempotency key may have expired',
      { status: 0, code: 'unreachable', retryAfter: null },
      9 * minute,
      1,
      { again: 'click' },
    ],
    [
      'waits for the user after a rate limit with an old key',
      { status: 429, code: 'rate_limited', retryAfter: 1 },
      9 * minute,
      1,
      { again: 'click' },
    ],
    ['waits for the user after a cancelled upload', { status: 0, code: 'aborted', retryAfter: null }, 0, 1, { again: 'click' }],
    ['waits for the user after 500', { status: 500, code: '', retryAfter: null }, 0, 1, { again: 'click' }],
    ['waits for the user after 403', { status: 403, code: 'missing_permission', retryAfter: null }, 0, 1, { again: 'click' }],
  ];
  for (const [what, error, ageMs, tries, next] of rows) it(what, () => expect(nextTry(error, ageMs, tries)).to.deep.equal(next));
});

import { expect } from 'chai';
import { nextTry } from '../../apps/web/state/outgoing-faults.ts';

const minute = 60_000;

describe('what becomes of a message whose post was refused', () => {
  const rows: [what: string, error: Parameters<typeof nextTry>[0], ageMs: number, tries: number, next: ReturnType<typeof nextTry>][] = [
    [
      'a rate limit waits as long as it says',
      { status: 429, code: 'rate_limited', retryAfter: 7 },
      0,
      1,
      { again: 'soon', afterMs: 7_000 },
    ],
    ['slow mode waits for the person', { status: 429, code: 'slowmode', retryAfter: 7 }, 0, 1, { again: 'click' }],
    [
      'the first call still runs: a little later',
      { status: 409, code: 'idempotency_conflict', retryAfter: null },
      0,
      1,
      { again: 'soon', afterMs: 1_000 },
    ],
    [
      'a conflict that outlives a dead process',
      { status: 409, code: 'idempotency_conflict', retryAfter: null },
      minute,
      9,
      { again: 'click' },
    ],
    [
      'no answer: when the connection is back',
      { status: 0, code: 'unreachable', retryAfter: null },
      0,
      1,
      { again: 'live', afterMs: 2_000 },
    ],
    [
      'no answer for the twentieth time',
      { status: 0, code: 'unreachable', retryAfter: null },
      minute,
      20,
      { again: 'live', afterMs: 30_000 },
    ],
    ['unavailable waits as long as it says', { status: 503, code: 'unavailable', retryAfter: 5 }, 0, 1, { again: 'live', afterMs: 5_000 }],
    ['a proxy without its service', { status: 502, code: '', retryAfter: null }, 0, 2, { again: 'live', afterMs: 4_000 }],
    ['a key that is not sure any more', { status: 0, code: 'unreachable', retryAfter: null }, 9 * minute, 1, { again: 'click' }],
    ['a rate limit under an old key', { status: 429, code: 'rate_limited', retryAfter: 1 }, 9 * minute, 1, { again: 'click' }],
    ['a stopped upload', { status: 0, code: 'aborted', retryAfter: null }, 0, 1, { again: 'click' }],
    ['a fault inside', { status: 500, code: '', retryAfter: null }, 0, 1, { again: 'click' }],
    ['a refusal', { status: 403, code: 'missing_permission', retryAfter: null }, 0, 1, { again: 'click' }],
  ];
  for (const [what, error, ageMs, tries, next] of rows) it(what, () => expect(nextTry(error, ageMs, tries)).to.deep.equal(next));
});

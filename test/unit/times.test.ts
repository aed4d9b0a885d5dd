import { expect } from 'chai';

describe('times in the pages', () => {
  const zone = process.env.TZ;
  let shortMomentOf: (at: string, now: number) => string;
  before(async () => {
    process.env.TZ = 'Europe/Berlin';
    ({ shortMomentOf } = await import('../../apps/web/ui/times.ts'));
  });
  after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  const rows: [what: string, at: string, now: string, day: RegExp][] = [
    ['the day before', '2026-11-26T12:00:00Z', '2026-11-27T12:00:00Z', /^Yesterday/],
    ['two days before', '2026-11-25T12:00:00Z', '2026-11-27T12:00:00Z', /2026|26/],
    ['the end of a day of 25 hours', '2026-10-24T12:00:00Z', '2026-10-25T22:30:00Z', /^Yesterday/],
    ['the beginning of that day', '2026-10-24T22:30:00Z', '2026-10-25T22:30:00Z', /^Today/],
    ['the day after a day of 23 hours', '2026-03-29T12:00:00Z', '2026-03-29T22:30:00Z', /^Yesterday/],
    ['two days before, across a day of 23 hours', '2026-03-28T12:00:00Z', '2026-03-29T22:30:00Z', /^(?!Yesterday)/],
  ];
  for (const [what, at, now, day] of rows) it(`names ${what}`, () => expect(shortMomentOf(at, Date.parse(now))).to.match(day));
});

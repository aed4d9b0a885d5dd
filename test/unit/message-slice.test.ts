import { expect } from 'chai';
import fc from 'fast-check';
import { rowsOf } from '../../apps/web/client/chat/message-rows.ts';
import {
  grownDown,
  grownUp,
  indexAfter,
  indexFrom,
  newestSlice,
  rangeOf,
  type Slice,
  sliceAround,
} from '../../apps/web/client/chat/slice.ts';
import type { Message } from '../../lib/contract/message.ts';

const list = (count: number, from = 1): { id: string }[] =>
  Array.from({ length: count }, (_, at) => ({ id: String(from + at).padStart(19, '0') }));
const id = (number: number): string => String(number).padStart(19, '0');

describe('the slice of a list of messages', () => {
  const messages = list(100);
  const cases: [string, Slice, { from: number; to: number }][] = [
    ['newest', newestSlice(messages, 20), { from: 80, to: 100 }],
    ['newest of fewer', newestSlice(list(5), 20), { from: 0, to: 5 }],
    ['around', sliceAround(messages, id(50), 10), { from: 44, to: 54 }],
    ['around the first', sliceAround(messages, id(1), 10), { from: 0, to: 5 }],
    ['up', grownUp(messages, { first: id(51), last: id(60) }, 10, 50), { from: 40, to: 60 }],
    ['up at the bound lets go of the newest', grownUp(messages, { first: id(51), last: id(60) }, 10, 15), { from: 40, to: 55 }],
    ['up at the beginning', grownUp(messages, { first: id(3), last: id(60) }, 10, 100), { from: 0, to: 60 }],
    ['up while it follows', grownUp(messages, newestSlice(messages, 20), 10, 15), { from: 70, to: 100 }],
    ['down', grownDown(messages, { first: id(51), last: id(60) }, 10, 50), { from: 50, to: 70 }],
    ['down at the bound lets go of the oldest', grownDown(messages, { first: id(51), last: id(60) }, 10, 15), { from: 55, to: 70 }],
    ['down at the end', grownDown(messages, { first: id(91), last: id(95) }, 10, 50), { from: 90, to: 100 }],
  ];
  for (const [name, slice, range] of cases)
    it(name, () => {
      expect(rangeOf(name.includes('fewer') ? list(5) : messages, slice)).to.deep.equal(range);
    });

  it('shows the same messages after older ones were put before it and newer ones behind', () => {
    const slice = { first: id(51), last: id(60) };
    expect(rangeOf(list(60, 41), slice)).to.deep.equal({ from: 10, to: 20 });
    expect(rangeOf(messages, slice)).to.deep.equal({ from: 50, to: 60 });
    expect(rangeOf([...messages, ...list(50, 101)], slice)).to.deep.equal({ from: 50, to: 60 });
    expect(rangeOf([...messages, ...list(50, 101)], newestSlice(messages, 20))).to.deep.equal({ from: 80, to: 150 });
  });

  it('goes on at the neighbours of a message that is gone', () => {
    const without = messages.filter((one) => one.id !== id(51) && one.id !== id(60));
    expect(rangeOf(without, { first: id(51), last: id(60) })).to.deep.equal({ from: 50, to: 58 });
  });

  it('finds places as a plain search does', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(50)), fc.nat(50), (numbers, wanted) => {
        const sorted = numbers.sort((a, b) => a - b).map((number) => ({ id: id(number) }));
        expect(indexFrom(sorted, id(wanted))).to.equal(sorted.filter((one) => one.id < id(wanted)).length);
        expect(indexAfter(sorted, id(wanted))).to.equal(sorted.filter((one) => one.id <= id(wanted)).length);
      }),
    );
  });
});

describe('the rows of a list of messages', () => {
  const at = (number: number, minute: number, author = 'a', more: Partial<Message> = {}): Message =>
    ({
      id: id(number),
      author: { id: author, displayName: author },
      createdAt: new Date(2026, 10, 22, 12, minute).toISOString(),
      replyDeleted: false,
      ...more,
    }) as Message;
  const grouped = (messages: Message[], readTo: string | null = null): boolean[] =>
    rowsOf(messages, 0, messages.length, true, readTo).map((row) => row.grouped);

  const cases: [string, Message[], boolean[]][] = [
    ['one author within seven minutes', [at(1, 0), at(2, 6)], [false, true]],
    ['seven minutes later', [at(1, 0), at(2, 7)], [false, false]],
    ['another author', [at(1, 0), at(2, 1, 'b')], [false, false]],
    [
      'a webhook renamed meanwhile',
      [at(1, 0), at(2, 1, 'a', { author: { id: 'a', displayName: 'other' } as Message['author'] })],
      [false, false],
    ],
    ['a reply', [at(1, 0), at(2, 1, 'a', { reply: { id: id(1) } as Message['reply'] as NonNullable<Message['reply']> })], [false, false]],
    [
      'an answer to a command',
      [at(1, 0), at(2, 1, 'a', { interaction: { user: {}, name: 'x' } as NonNullable<Message['interaction']> })],
      [false, false],
    ],
    ['an answer for one person', [at(1, 0), at(2, 1, 'a', { ephemeral: true })], [false, false]],
  ];
  for (const [name, messages, expected] of cases)
    it(`${name}: ${expected[1] ? 'one group' : 'two'}`, () => {
      expect(grouped(messages)).to.deep.equal(expected);
    });

  it('a row looks the same wherever the slice begins', () => {
    const messages = [at(1, 0), at(2, 1), at(3, 2)];
    expect(rowsOf(messages, 1, 3, true, null)).to.deep.equal(rowsOf(messages, 0, 3, true, null).slice(1));
  });

  it('the line "new" stands once, below what was read, and begins a group', () => {
    const messages = [at(1, 0), at(2, 1), at(3, 2)];
    const rows = rowsOf(messages, 0, 3, true, id(1));
    expect(rows.map(({ fresh }) => fresh)).to.deep.equal([false, true, false]);
    expect(rows.map((row) => row.grouped)).to.deep.equal([false, false, true]);
  });

  it('each day is named where it begins, the first only when nothing is older', () => {
    const next = at(2, 0, 'a', { createdAt: new Date(2026, 10, 23).toISOString() });
    const days = (hasOlder: boolean): boolean[] => rowsOf([at(1, 0), next], 0, 2, hasOlder, null).map(({ day }) => day !== undefined);
    expect(days(true)).to.deep.equal([false, true]);
    expect(days(false)).to.deep.equal([true, true]);
  });
});

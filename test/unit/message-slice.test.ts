import { expect } from 'chai';
import fc from 'fast-check';
import { rowsOf } from '../../apps/web/client/chat/message-rows.ts';
import {
  extendDown,
  extendUp,
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
const part = (first: number, last: number): Slice => ({ first: id(first), last: id(last) });

describe('message slice', () => {
  const messages = list(100);
  const cases: [string, Slice, { from: number; to: number }][] = [
    ['starts with the newest messages', newestSlice(messages, 20), { from: 80, to: 100 }],
    ['starts with all messages if there are fewer', newestSlice(list(5), 20), { from: 0, to: 5 }],
    ['centers on a message', sliceAround(messages, id(50), 10), { from: 44, to: 54 }],
    ['centers on the first message', sliceAround(messages, id(1), 10), { from: 0, to: 5 }],
    ['grows up', extendUp(messages, part(51, 60), 10, 50), { from: 40, to: 60 }],
    ['drops the newest when it grows up at the limit', extendUp(messages, part(51, 60), 10, 15), { from: 40, to: 55 }],
    ['grows up to the first message', extendUp(messages, part(3, 60), 10, 100), { from: 0, to: 60 }],
    [
      'keeps the newest when it grows up while it follows them',
      extendUp(messages, newestSlice(messages, 20), 10, 15),
      { from: 70, to: 100 },
    ],
    ['grows down', extendDown(messages, part(51, 60), 10, 50), { from: 50, to: 70 }],
    ['drops the oldest when it grows down at the limit', extendDown(messages, part(51, 60), 10, 15), { from: 55, to: 70 }],
    ['grows down to the last message', extendDown(messages, part(91, 95), 10, 50), { from: 90, to: 100 }],
  ];
  for (const [name, slice, range] of cases)
    it(name, () => {
      expect(rangeOf(name.includes('fewer') ? list(5) : messages, slice)).to.deep.equal(range);
    });

  it('shows the same messages after older and newer ones were added', () => {
    const slice = part(51, 60);
    expect(rangeOf(list(60, 41), slice)).to.deep.equal({ from: 10, to: 20 });
    expect(rangeOf(messages, slice)).to.deep.equal({ from: 50, to: 60 });
    expect(rangeOf([...messages, ...list(50, 101)], slice)).to.deep.equal({ from: 50, to: 60 });
    expect(rangeOf([...messages, ...list(50, 101)], newestSlice(messages, 20))).to.deep.equal({ from: 80, to: 150 });
  });

  it('continues at the neighbours of a deleted message', () => {
    const without = messages.filter((one) => one.id !== id(51) && one.id !== id(60));
    expect(rangeOf(without, part(51, 60))).to.deep.equal({ from: 50, to: 58 });
  });

  it('finds the same indexes as a linear search', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(50)), fc.nat(50), (numbers, wanted) => {
        const sorted = numbers.sort((a, b) => a - b).map((number) => ({ id: id(number) }));
        expect(indexFrom(sorted, id(wanted))).to.equal(sorted.filter((one) => one.id < id(wanted)).length);
        expect(indexAfter(sorted, id(wanted))).to.equal(sorted.filter((one) => one.id <= id(wanted)).length);
      }),
    );
  });
});

describe('message rows', () => {
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

  const interaction = { user: {}, name: 'x' } as NonNullable<Message['interaction']>;
  const cases: [string, Message[], boolean[]][] = [
    ['one author within seven minutes', [at(1, 0), at(2, 6)], [false, true]],
    ['seven minutes later', [at(1, 0), at(2, 7)], [false, false]],
    ['another author', [at(1, 0), at(2, 1, 'b')], [false, false]],
    ['a renamed webhook', [at(1, 0), at(2, 1, 'a', { author: { id: 'a', displayName: 'other' } as Message['author'] })], [false, false]],
    ['a reply', [at(1, 0), at(2, 1, 'a', { reply: { id: id(1) } as Message['reply'] as NonNullable<Message['reply']> })], [false, false]],
    ['a response to a command', [at(1, 0), at(2, 1, 'a', { interaction })], [false, false]],
    ['an ephemeral response', [at(1, 0), at(2, 1, 'a', { ephemeral: true })], [false, false]],
  ];
  for (const [name, messages, expected] of cases)
    it(`${name}: ${expected[1] ? 'one group' : 'two groups'}`, () => {
      expect(grouped(messages)).to.deep.equal(expected);
    });

  it('rows do not depend on the start of the slice', () => {
    const messages = [at(1, 0), at(2, 1), at(3, 2)];
    expect(rowsOf(messages, 1, 3, true, null)).to.deep.equal(rowsOf(messages, 0, 3, true, null).slice(1));
  });

  it('shows the line "new" once, after the last read message, and starts a group there', () => {
    const messages = [at(1, 0), at(2, 1), at(3, 2)];
    const rows = rowsOf(messages, 0, 3, true, id(1));
    expect(rows.map(({ fresh }) => fresh)).to.deep.equal([false, true, false]);
    expect(rows.map((row) => row.grouped)).to.deep.equal([false, false, true]);
  });

  it('names each day at its first message, and the first day only without older messages', () => {
    const next = at(2, 0, 'a', { createdAt: new Date(2026, 10, 23).toISOString() });
    const days = (hasOlder: boolean): boolean[] => rowsOf([at(1, 0), next], 0, 2, hasOlder, null).map(({ day }) => day !== undefined);
    expect(days(true)).to.deep.equal([false, true]);
    expect(days(false)).to.deep.equal([true, true]);
  });
});

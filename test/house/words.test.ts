import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { pages, sources } from './files.ts';

/** Words that were used for other things than the field uses them for, or that readers stumble over (CONTRIBUTING.md#style), with the words to use. */
const retired: Record<string, string> = {
  'owe|owes|owed|owing': 'pending, outbox',
  'nudge|nudges|nudged': 'wake',
  'grave|graves|bury|buried': 'tombstone',
  'faces|mien': 'public profile',
  'ear|ears|hear|hears|heard|hearer|hearers|unheard': 'receive, recipient, subscriber',
  'untold|retold': 'not relayed',
  'obey|obeys|obeyed': 'run, execute',
  'acquaint|acquainted': 'authenticate',
  'anew|hitherto|thereby|thereof|wherein|whereof|whence|amiss|lest': 'everyday words',
};
const word = new RegExp(`\\b(?:${Object.keys(retired).join('|')})\\b`, 'gi');

/** The retired words in a text, in order. */
const retiredWordsIn = (text: string): string[] => text.match(word) ?? [];

describe('words', () => {
  it('no source file or page uses a retired word', () => {
    const found = [...sources, ...pages]
      .filter((file) => file !== 'test/house/words.test.ts')
      .flatMap((file) => retiredWordsIn(readFileSync(file, 'utf8')).map((one) => `${file}: ${one}`));
    expect(found).to.deep.equal([]);
  });

  for (const text of ['// what a bot owes', 'const ears = 2;', 'It begins anew.'])
    it(`refuses ${JSON.stringify(text)}`, () => expect(retiredWordsIn(text)).to.have.length(1));
  for (const text of ['appears', 'nearest', 'the owner', 'rehearsal'])
    it(`allows ${JSON.stringify(text)}`, () => expect(retiredWordsIn(text)).to.deep.equal([]));
});

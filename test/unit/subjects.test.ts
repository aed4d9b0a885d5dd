import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { isSubject } from '../../lib/outbound/openid-provider.ts';

describe('the subject of an ID token', () => {
  for (const [name, subject, wanted] of [
    ['an ordinary one', 'f:0b3c:ada@example.org', true],
    ['one with pairs of surrogates', 'ada 🔑', true],
    ['an empty one', '', false],
    ['a blank one', ' \t', false],
    ['one with half of a surrogate pair', 'ada\ud83d', false],
    ['one that is too long', 'a'.repeat(limits.signInSubjectChars + 1), false],
  ] as const)
    it(`${name} ${wanted ? 'identifies somebody' : 'is refused'}`, () => expect(isSubject(subject)).to.equal(wanted));
});

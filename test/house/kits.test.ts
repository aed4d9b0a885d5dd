import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { generateKits } from '../../sdk/generate/kits.ts';

describe('kits', () => {
  for (const [file, source] of generateKits())
    it(`${file} is what the contract says (if not, run: npm run kits)`, () => expect(readFileSync(file, 'utf8')).to.equal(source));
});

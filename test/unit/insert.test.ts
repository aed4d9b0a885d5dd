import { expect } from 'chai';
import { isUnavailable } from '../../lib/store/mongo/database.ts';
import { insertNew } from '../../lib/store/mongo/insert.ts';

/** A model whose inserts fail with these codes in turn. */
const failingModel = (...codes: number[]) => {
  const left = [...codes];
  const insertOne = async (): Promise<void> => {
    const code = left.shift();
    if (code !== undefined) throw Object.assign(new Error('deadlock detected'), { code });
  };
  return { model: { insertOne } as never, left };
};

describe('insertNew', () => {
  it('retries after a deadlock', async () => {
    const { model, left } = failingModel(112, 112);
    expect(await insertNew(model, { _id: 'a' })).to.equal(true);
    expect(left).to.deep.equal([]);
  });

  it('returns false when another document has the same id after a deadlock', async () => {
    expect(await insertNew(failingModel(112, 11000).model, { _id: 'a' })).to.equal(false);
  });

  it('fails as unavailable after ten attempts', async () => {
    const { model, left } = failingModel(...Array.from({ length: 11 }, () => 112));
    const error = await insertNew(model, { _id: 'a' }).catch((reason: unknown) => reason);
    expect(isUnavailable(error)).to.equal(true);
    expect(left).to.have.length(1);
  });
});

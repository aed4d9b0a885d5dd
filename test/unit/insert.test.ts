import { expect } from 'chai';
import { isUnavailable } from '../../lib/store/mongo/database.ts';
import { insertNew } from '../../lib/store/mongo/insert.ts';

const failing = (...codes: number[]) => {
  const left = [...codes];
  const insertOne = async (): Promise<void> => {
    const code = left.shift();
    if (code !== undefined) throw Object.assign(new Error('deadlock detected'), { code });
  };
  return { model: { collection: { insertOne } } as never, left };
};

describe('insertNew', () => {
  it('tries again after a lost deadlock, which wrote nothing', async () => {
    const { model, left } = failing(112, 112);
    expect(await insertNew(model, { _id: 'a' })).to.equal(true);
    expect(left).to.deep.equal([]);
  });

  it('false when the one it lost to stands in its place', async () => {
    expect(await insertNew(failing(112, 11000).model, { _id: 'a' })).to.equal(false);
  });

  it('gives up after ten, as a database that is unavailable', async () => {
    const { model, left } = failing(...Array.from({ length: 11 }, () => 112));
    const fault = await insertNew(model, { _id: 'a' }).catch((error: unknown) => error);
    expect(isUnavailable(fault)).to.equal(true);
    expect(left).to.have.length(1);
  });
});

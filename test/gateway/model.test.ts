import { use } from '../harness/use.ts';
import { runModel } from './model.ts';
import { startModelFixture } from './model-fixture.ts';

/** The seeds of this run, as `<first>-<last>`. */
const [firstSeed = 1, lastSeed = 2] = (process.env.MODEL_SEEDS ?? '1-2').split('-').map(Number);
describe('gateway: random steps compared with a model of resume', function () {
  this.timeout(Number(process.env.MODEL_MS ?? 180_000));
  const fixtures = [1, 3].map((partitions) => ({ partitions, fixture: use(() => startModelFixture(partitions)) }));

  let takenSteps: string[] = [];
  beforeEach(() => {
    takenSteps = [];
  });
  afterEach(function () {
    if (this.currentTest?.isFailed()) process.stderr.write(`${takenSteps.join('\n')}\n${this.currentTest.err?.stack}\n`);
  });
  for (let seed = firstSeed; seed <= lastSeed; seed++)
    for (const { partitions, fixture } of fixtures)
      it(`each session receives exactly what it may see, ${partitions} partitions, seed ${seed}`, () =>
        runModel(fixture, seed, (step) => void takenSteps.push(step)));
});

import { runModel } from './model.ts';
import { type Stage, startStage } from './stage.ts';

/** The seeds of this run, as `<first>-<last>`. */
const [firstSeed = 1, lastSeed = 2] = (process.env.MODEL_SEEDS ?? '1-2').split('-').map(Number);
describe('gateway: a model of resume', function () {
  this.timeout(Number(process.env.MODEL_MS ?? 180_000));
  const stages = new Map<number, Stage>();
  before(async () => {
    for (const partitions of [1, 3]) stages.set(partitions, await startStage(partitions));
  });
  after(async () => {
    for (const { world, links, database } of stages.values()) {
      await world.close();
      await Promise.all([...links, database].map((proxy) => proxy.close()));
    }
  });

  let course: string[] = [];
  beforeEach(() => {
    course = [];
  });
  afterEach(function () {
    if (this.currentTest?.isFailed()) process.stderr.write(`${course.join('\n')}\n${this.currentTest.err?.stack}\n`);
  });
  for (let seed = firstSeed; seed <= lastSeed; seed++)
    for (const partitions of [1, 3])
      it(`any sequence of posts, changes and faults gives each session exactly what it may see, ${partitions} partitions, seed ${seed}`, () =>
        runModel(stages.get(partitions) as Stage, seed, (step) => void course.push(step)));
});

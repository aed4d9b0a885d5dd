import type { mongo } from 'mongoose';
import type { Document, Shape } from './shape.ts';

/** How the database ran a query. */
export interface Explained {
  /** The names of the indexes that it used, in alphabetical order. */
  index: string;
  examined: number;
  returned: number;
  /** The number of documents that were sorted in memory. */
  sorted: number;
  hasCollectionScan: boolean;
}

/** The stages of a plan: a stage may be at any depth, in MongoDB's forms as in that of the database gateway. */
function findStages(plan: unknown): Document[] {
  if (plan === null || typeof plan !== 'object') return [];
  const own = 'stage' in plan && typeof plan.stage === 'string' ? [plan as Document] : [];
  return [...own, ...Object.values(plan).flatMap(findStages)];
}

const inputsOf = ({ inputStage, inputStages = [] }: Document): Document[] => (inputStage ? [inputStage] : inputStages);

/** The limit of a query that has one, when it is explained. */
const usualLimit = 50;

/** Runs a query of this shape and filter, and says how the database did it. An aggregation, a count and a write find their documents as a find does. */
export async function explain(database: mongo.Db, { collection, sort, hint, limit }: Shape, filter: Document): Promise<Explained> {
  const find = {
    find: collection,
    filter,
    ...(sort && { sort }),
    ...(hint && { hint }),
    ...(limit && { limit: limit === 'one' ? 1 : usualLimit }),
  };
  const { queryPlanner, executionStats } = await database.command({ explain: find, verbosity: 'executionStats' });
  const stages = findStages(queryPlanner.winningPlan);
  const indexes = stages.flatMap(({ stage, indexName }) => (stage === 'IDHACK' ? ['_id_'] : indexName ? [String(indexName)] : []));
  const sorts = findStages(executionStats.executionStages).filter(({ stage }) => String(stage).toUpperCase() === 'SORT');
  return {
    index: [...new Set(indexes)].sort().join(' + '),
    examined: executionStats.totalDocsExamined,
    returned: executionStats.nReturned,
    sorted: Math.max(0, ...sorts.flatMap(inputsOf).map(({ nReturned }) => nReturned)),
    hasCollectionScan: stages.some(({ stage }) => stage === 'COLLSCAN'),
  };
}

import { scanFields, stringField } from '../bson-scan.ts';
import { type Command, type Handler, queryRow } from '../command.ts';
import { CommandError } from '../errors.ts';
import { withNow } from '../now.ts';

/** A node of a plan of PostgreSQL, as `EXPLAIN (FORMAT JSON)` describes it. The last three are there only after it ran. */
interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: PlanNode[];
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  [detail: `Rows Removed by ${string}`]: number;
}

/** A stage of a plan in MongoDB's form. */
interface Stage extends Record<string, unknown> {
  stage: string;
  docsExamined: number;
  inputStages: Stage[];
}

const plans: Record<string, string> = { find: 'find', aggregate: 'pipeline', count: 'count', distinct: 'distinct' };
const stages: Record<string, string> = {
  'Seq Scan': 'COLLSCAN',
  'Index Scan': 'IXSCAN',
  'Index Only Scan': 'IXSCAN',
  'Bitmap Index Scan': 'IXSCAN',
  'Bitmap Heap Scan': 'FETCH',
  Sort: 'SORT',
  'Incremental Sort': 'SORT',
  Limit: 'LIMIT',
};
/** The nodes that read documents. */
const reads = new Set(['Seq Scan', 'Index Scan', 'Bitmap Heap Scan']);

/**
 * `explain` of a command that reads. With a verbosity other than `queryPlanner` the command runs, and the reply has `executionStats`: how many documents it
 * returned and how many were read for that.
 */
export const explain: Handler = async (command, lease) => {
  const [kind, inner] = explained(command);
  const runs = stringField(command.body, command.fields.get('verbosity')) !== 'queryPlanner';
  const options = runs ? 'FORMAT JSON, ANALYZE, TIMING false, BUFFERS false' : 'FORMAT JSON, VERBOSE false';
  const text = `EXPLAIN (${options}) SELECT document FROM documentdb_api_catalog.bson_aggregation_${kind}($1, $2)`;
  const [json] = await queryRow(lease, { name: `explain_${kind}_${runs ? 'run' : 'plan'}`, text }, [command.db, inner]);
  const plan = JSON.parse(String(json)) as { Plan: PlanNode }[];
  const [root] = plan.flatMap(({ Plan }) => toStages(Plan));
  const queryPlanner = { winningPlan: root, plan };
  if (!runs || !root) return { queryPlanner, ok: 1 };
  const executionStats = { nReturned: root.nReturned, totalDocsExamined: sumExamined(root), executionStages: root };
  return { queryPlanner, executionStats, ok: 1 };
};

const sumExamined = ({ docsExamined, inputStages }: Stage): number =>
  inputStages.reduce((sum, input) => sum + sumExamined(input), docsExamined);

/** Whether a node reads the whole index of `_id`, whose first column is the same in all documents of a collection. */
const readsAll = ({ 'Node Type': type, 'Index Cond': condition = '' }: PlanNode): boolean =>
  type === 'Bitmap Index Scan' && /^\(shard_key_value = '\d+'::bigint\)$/.test(condition);

/** The stages of a node; the nodes of the extension itself, which only pass documents on, are left out. */
function toStages(node: PlanNode): Stage[] {
  const { 'Node Type': type, 'Index Name': indexName, 'Actual Loops': loops = 1, 'Actual Rows': rows, Plans = [] } = node;
  const inputStages = Plans.flatMap(toStages);
  if (type === 'Custom Scan') return inputStages;
  const removed = Object.entries(node).reduce((sum, [name, value]) => sum + (name.startsWith('Rows Removed by') ? Number(value) : 0), 0);
  const docsExamined = reads.has(type) && rows !== undefined ? Math.round((rows + removed) * loops) : 0;
  const used = readsAll(node) ? { stage: 'COLLSCAN' } : { stage: stages[type] ?? type, ...(indexName && { indexName }) };
  const stage = { ...used, docsExamined, inputStages };
  return [rows === undefined ? stage : { ...stage, nReturned: Math.round(rows * loops) }];
}

function explained(command: Command): [kind: string, inner: Buffer] {
  const field = command.fields.get('explain');
  const inner = field?.type === 3 ? command.body.subarray(field.at, field.end) : undefined;
  const kind = inner && plans[scanFields(inner).keys().next().value ?? ''];
  if (!inner || !kind) throw new CommandError(115, 'CommandNotSupported', 'only find, aggregate, count and distinct are explained');
  return [kind, withNow(inner, 'command', Date.now())];
}

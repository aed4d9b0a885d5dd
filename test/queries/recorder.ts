import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNewQueries, type RecordedQuery, readRecorded } from './catalogue.ts';
import { type Document, describeShape, type Query, toKey, toShape } from './shape.ts';

/*
 * Sees every query that the product makes in this process, during the tests (.mocharc.json). With QUERIES_FILE set, each is appended to that file once, as in
 * the roles that a test starts (test/harness/stack.ts). Else a test file fails if it, or a role that it started, made a query that the catalogue does not have
 * (docs/scaling.md#queries).
 */

interface Operation {
  commandName: string;
  buildCommandDocument(connection: object): Document;
}

const isCompiled = import.meta.url.endsWith('.js');
const root = fileURLToPath(new URL(isCompiled ? '../../..' : '../..', import.meta.url));
const recordFile = process.env.QUERIES_FILE;
/** The file to which the roles that the tests of this process start append their queries. */
const rolesFile = join(tmpdir(), `parlance-queries-${process.pid}.jsonl`);
if (!recordFile) {
  process.env.QUERIES_OF_ROLES = rolesFile;
  process.once('exit', () => rmSync(rolesFile, { force: true }));
}

/** Helpers that make queries on behalf of their callers. */
const helpers = ['database', 'insert', 'batched-reads', 'delete-in-batches'].map((name) => `lib/store/mongo/${name}.ts`);

/** A path of the sources from the location in a stack frame, which may be in the compiled code; null for other code. */
function toSourcePath(location: string): string | null {
  const path = location.startsWith('file://') ? fileURLToPath(location) : location;
  if (!path.startsWith(root) || path.includes('/node_modules/')) return null;
  const source = path.slice(root.length).replace(/^dist\/(.*)\.js$/, '$1.ts');
  return source.startsWith('test/queries/') ? null : source;
}

/** The results of `toSourcePath` so far: each query asks for many. */
const sourcePaths = new Map<string, string | null>();

/** The file and function of the product that makes the query that is being sent; null if a test makes it. */
function findCaller(): string | null {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 60;
  // Without source maps, which would take longer than the query.
  Error.prepareStackTrace = (_, frames) => frames;
  const frames = new Error('stack').stack as unknown as NodeJS.CallSite[];
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  const calls = frames.flatMap((frame) => {
    const location = frame.getFileName() ?? '';
    if (!sourcePaths.has(location)) sourcePaths.set(location, toSourcePath(location));
    const file = sourcePaths.get(location);
    return file ? [{ file, name: frame.getFunctionName()?.replace(/^Object\./, '') ?? '' }] : [];
  });
  const at = calls.findIndex(({ file }) => !helpers.includes(file));
  const { file, name: own } = calls[Math.max(at, 0)] ?? {};
  if (!file || /^(test|local-database)\//.test(file)) return null;
  // An unnamed function is known by the function around it, which may be among its callers.
  const name = own || calls.slice(at).find((call) => call.file === file && call.name)?.name;
  return name ? `${file} ${name}` : file;
}

const counting = (stage: Document): boolean => JSON.stringify(stage) === '{"$group":{"_id":1,"n":{"$sum":1}}}';

/** The parts of an aggregation that decide how its documents are found. */
function toAggregation(collection: string, pipeline: readonly Document[], hint: unknown): Query {
  const rest = [...pipeline];
  const take = (name: string): unknown => (rest[0] && name in rest[0] ? rest.shift()?.[name] : undefined);
  const filter = (take('$match') ?? {}) as Document;
  const sort = take('$sort') as Record<string, number> | undefined;
  const limit = take('$limit') as number | undefined;
  return {
    collection,
    filter,
    hint,
    limit,
    ...(sort && { sort }),
    stages: rest.map((stage) => (counting(stage) ? 'count' : (Object.keys(stage)[0] ?? ''))),
  };
}

/** The statements of a write, which a bulk write has wrapped. */
const statementsOf = (statements: Document[] | { documents: Document[] }): Document[] =>
  Array.isArray(statements) ? statements : statements.documents.map((one) => ('toBSON' in one ? one.toBSON() : one));

/** The queries that the `$lookup` stages of an aggregation make for each document. */
const lookupsOf = (pipeline: readonly Document[]): Query[] =>
  pipeline.flatMap(({ $lookup }) => ($lookup ? [{ collection: $lookup.from, filter: { [$lookup.foreignField]: '' } }] : []));

/** The queries in a command: none for commands that find no documents, several for a bulk write. */
function queriesOf(command: Document): Query[] {
  const [name, target] = Object.entries(command)[0] as [string, string];
  const sort = command.sort ? { sort: Object.fromEntries(command.sort as Iterable<[string, number]>) } : {};
  switch (name) {
    case 'find':
      return [{ collection: target, filter: command.filter, ...sort, hint: command.hint, limit: command.limit }];
    case 'findAndModify':
      return [{ collection: target, filter: command.query, ...sort, hint: command.hint, limit: 1 }];
    case 'count':
      return [{ collection: target, filter: command.query ?? {}, hint: command.hint, limit: command.limit, stages: ['count'] }];
    case 'distinct':
      return [{ collection: target, filter: command.query ?? {}, stages: [`distinct ${command.key}`] }];
    case 'aggregate':
      return typeof target === 'string' ? [toAggregation(target, command.pipeline, command.hint), ...lookupsOf(command.pipeline)] : [];
    case 'update':
      return statementsOf(command.updates).map((one) => ({ collection: target, filter: one.q, hint: one.hint, limit: one.multi ? 0 : 1 }));
    case 'delete':
      return statementsOf(command.deletes).map((one) => ({ collection: target, filter: one.q, hint: one.hint, limit: one.limit }));
    default:
      return [];
  }
}

const recorded = new Map<string, RecordedQuery & { test?: string }>();
let currentTest: string | undefined;

function record(operation: Operation): void {
  if (!['find', 'findAndModify', 'count', 'distinct', 'aggregate', 'update', 'delete'].includes(operation.commandName)) return;
  const caller = findCaller();
  if (!caller) return;
  const command = operation.buildCommandDocument({});
  for (const query of queriesOf(command)) {
    const shape = toShape(query);
    const key = `${toKey(shape)} ${operation.commandName} ${caller}`;
    if (recorded.has(key)) continue;
    const made = { shape, operation: operation.commandName, caller };
    recorded.set(key, { ...made, ...(currentTest && { test: currentTest }) });
    if (recordFile) appendFileSync(recordFile, `${JSON.stringify(made)}\n`);
  }
}

// All methods of the driver send their commands through this function. It is not part of the public interface of the driver, which is a dependency of mongoose.
const require = createRequire(createRequire(import.meta.url).resolve('mongoose'));
const driver = require('mongodb/lib/operations/execute_operation.js') as {
  executeOperation(client: object, operation: Operation, timeout?: object): Promise<unknown>;
};
const { executeOperation } = driver;
driver.executeOperation = (client, operation, timeout) => {
  record(operation);
  return executeOperation(client, operation, timeout);
};

/** Hooks of mocha around each test and each file. */
export const mochaHooks = {
  beforeEach(this: Mocha.Context): void {
    currentTest = this.currentTest?.fullTitle();
  },
  afterAll(): void {
    if (recordFile) return;
    const ofRoles: (RecordedQuery & { test?: string })[] = existsSync(rolesFile) ? readRecorded(rolesFile) : [];
    const unknown = findNewQueries([...recorded.values(), ...ofRoles]);
    recorded.clear();
    rmSync(rolesFile, { force: true });
    if (unknown.length === 0) return;
    const lines = unknown.map(({ shape, caller, test }) => `${describeShape(shape)}\n    by ${caller}${test ? `, in "${test}"` : ''}`);
    throw new Error(`Not in test/queries/catalogue.jsonl; run npm run queries (docs/scaling.md#queries):\n  ${lines.join('\n  ')}`);
  },
};

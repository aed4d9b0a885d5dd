import { dirname, join } from 'node:path/posix';
import { parseSync } from '@swc/core';

/** Facts about one source file for the rules of docs/architecture.md#layers, read from its syntax tree. */
export interface SourceFacts {
  /** Files of the project that it imports or re-exports, as paths from the root. */
  localImports: string[];
  /** Those of them that it imports not only for types. */
  runtimeImports: string[];
  /** Packages that it imports, without subpaths, including `node:` modules. */
  packages: string[];
  lines: number;
}

type Node = Record<string, unknown> & { type?: unknown };
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const valueOf = (node: unknown): unknown => (isNode(node) ? node.value : undefined);

/** The module that this node imports, if any: by `import`, `export … from`, `import()` or an `import('…')` type. */
function moduleOf(node: Node): unknown {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return valueOf(node.source);
    case 'TsImportType':
      return valueOf(node.argument);
    case 'CallExpression': {
      const [first] = Array.isArray(node.arguments) ? node.arguments : [];
      return isNode(node.callee) && node.callee.type === 'Import' && isNode(first) ? valueOf(first.expression) : undefined;
    }
    default:
      return undefined;
  }
}

/** Reads the facts of the file at `path` (from the root, with slashes), whose text is `source`. */
export function readSource(path: string, source: string): SourceFacts {
  const facts: SourceFacts = {
    localImports: [],
    runtimeImports: [],
    packages: [],
    lines: source.split('\n').length - (source.endsWith('\n') ? 1 : 0),
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value)) return;
    const module = moduleOf(value);
    if (typeof module === 'string') {
      if (module.startsWith('.')) {
        facts.localImports.push(join(dirname(path), module));
        if (value.typeOnly !== true && value.type !== 'TsImportType') facts.runtimeImports.push(join(dirname(path), module));
      }
      if (!module.startsWith('.')) facts.packages.push(module.split('/', module.startsWith('@') ? 2 : 1).join('/'));
    }
    Object.values(value).forEach(visit);
  };
  visit(parseSync(source, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2022' }).body);
  return facts;
}

/** The first import cycle in `graph`, as its files in order with the first one repeated; undefined if there is none. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    const start = path.indexOf(file);
    if (start >= 0) return [...path.slice(start), file];
    if (done.has(file)) return undefined;
    done.add(file);
    path.push(file);
    for (const target of graph.get(file) ?? []) {
      const cycle = visit(target);
      if (cycle) return cycle;
    }
    path.pop();
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file);
    if (cycle) return cycle;
  }
  return undefined;
}

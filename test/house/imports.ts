import { dirname, join } from 'node:path/posix';
import { parseSync } from '@swc/core';

/** What the rules of docs/architecture.md#layers need to know about one source file, read from its syntax tree. */
export interface Facts {
  /** Files of ours that it imports or re-exports from, as paths from the root. */
  ours: string[];
  /** Those of them that it needs when it runs: not only for their types. */
  needed: string[];
  /** Packages it names, without subpaths; `node:` modules included. */
  packages: string[];
  /** Spots that the rules look at: `any`, `default export`, `process.env`. */
  spots: Set<'any' | 'default export' | 'process.env'>;
  lines: number;
}

type Node = Record<string, unknown> & { type?: unknown };
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const valueOf = (node: unknown): unknown => (isNode(node) ? node.value : undefined);

/** The module that this node imports, when it does: `import`, `export … from`, `import()` and `import('…')` types. */
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

function spotOf(node: Node): 'any' | 'default export' | 'process.env' | undefined {
  if (node.type === 'TsKeywordType' && node.kind === 'any') return 'any';
  if (node.type === 'ExportDefaultDeclaration' || node.type === 'ExportDefaultExpression') return 'default export';
  if (node.type === 'ExportSpecifier') {
    const name = node.exported ?? node.orig;
    return isNode(name) && name.value === 'default' ? 'default export' : undefined;
  }
  if (node.type === 'MemberExpression' && isNode(node.property)) {
    const named = node.property.type === 'Computed' ? node.property.expression : node.property;
    return valueOf(node.object) === 'process' && valueOf(named) === 'env' ? 'process.env' : undefined;
  }
  if (node.type === 'ImportDeclaration' && valueOf(node.source) === 'node:process')
    return JSON.stringify(node.specifiers).includes('"env"') ? 'process.env' : undefined;
  return undefined;
}

/** Reads the facts of the file at `path` (from the root, with slashes) whose text is `source`. */
export function factsOf(path: string, source: string): Facts {
  const facts: Facts = {
    ours: [],
    needed: [],
    packages: [],
    spots: new Set(),
    lines: source.split('\n').length - (source.endsWith('\n') ? 1 : 0),
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value)) return;
    const module = moduleOf(value);
    if (typeof module === 'string') {
      if (module.startsWith('.')) {
        facts.ours.push(join(dirname(path), module));
        if (value.typeOnly !== true && value.type !== 'TsImportType') facts.needed.push(join(dirname(path), module));
      }
      if (!module.startsWith('.')) facts.packages.push(module.split('/', module.startsWith('@') ? 2 : 1).join('/'));
    }
    const spot = spotOf(value);
    if (spot) facts.spots.add(spot);
    Object.values(value).forEach(visit);
  };
  visit(parseSync(source, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2022' }).body);
  return facts;
}

/** The first circle of imports that a file of `graph` stands in, as the files in order with the first repeated; undefined when there is none. */
export function circleOf(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    const seen = path.indexOf(file);
    if (seen >= 0) return [...path.slice(seen), file];
    if (done.has(file)) return undefined;
    done.add(file);
    path.push(file);
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target);
      if (circle) return circle;
    }
    path.pop();
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle) return circle;
  }
  return undefined;
}

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { routes } from '../../apps/api/routes/index.ts';
import { type Endpoint, surface } from './surface.ts';

/** An endpoint without the names of its path parameters, which are not compared. */
const keyOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
const repeated = (keys: readonly string[]): string[] => keys.filter((key, at) => keys.indexOf(key) !== at);

/** Where the route table and the promised surface differ, one line each. */
function differences(table: readonly { method: string; path: string }[], promised: readonly Endpoint[]): string[] {
  const built = new Set(table.map(keyOf));
  const known = new Set(promised.map(keyOf));
  return [
    ...repeated(table.map(keyOf)).map((key) => `${key} is in the route table twice`),
    ...repeated(promised.map(keyOf)).map((key) => `${key} is promised twice`),
    ...promised.filter((one) => one.part === 'built' && !built.has(keyOf(one))).map((one) => `${keyOf(one)} is missing`),
    ...promised.filter((one) => one.part !== 'built' && built.has(keyOf(one))).map((one) => `${keyOf(one)} is built: say so in surface.ts`),
    ...table.filter((one) => !known.has(keyOf(one))).map((one) => `${keyOf(one)} is promised nowhere`),
  ];
}

/** The endpoints in the tables of the specification, where it lies beside the repository. */
const endpointsIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) `(\/api[^`]+)`/gm)].map(([, method = '', path = '']) => keyOf({ method, path })),
  ),
];

describe('surface', () => {
  it('the route table is what was promised, both ways', () => expect(differences(routes, surface)).to.deep.equal([]));

  it('every path is under /api, has no trailing slash, and names no hole twice', () => {
    for (const { path } of routes) {
      expect(path).to.match(/^\/api(\/([a-z0-9@.-]+|\{\w+\}))+$/);
      expect(repeated([...path.matchAll(/\{(\w+)\}/g)].map(([, hole = '']) => hole)), path).to.deep.equal([]);
    }
  });

  it('the promised surface is the specification’s, where that lies beside the repository', () => {
    if (!existsSync('../shared/spec.md')) return;
    const inSpec = endpointsIn(readFileSync('../shared/spec.md', 'utf8'));
    expect(inSpec.length).to.be.greaterThan(50);
    expect(surface.filter((one) => one.from === 'spec').map(keyOf)).to.have.members(inSpec);
  });

  const [first] = surface as [Endpoint];
  const pending: Endpoint = { ...first, part: 'webhooks' };
  const spoilt: [what: string, table: readonly Endpoint[], promised: readonly Endpoint[], fault: RegExp][] = [
    ['a missing route', [], [first], /is missing/],
    ['a route nobody promised', [first], [], /is promised nowhere/],
    ['a route built before its line was moved', [first], [pending], /is built/],
    ['the same route by another name', [first, { ...first, path: first.path.replace('channelId', 'id') }], [first], /table twice/],
    ['a promise made twice', [first], [first, pending], /promised twice/],
  ];
  for (const [what, table, promised, fault] of spoilt)
    it(`the check would see ${what}`, () => expect(differences(table, promised).join('\n')).to.match(fault));
});

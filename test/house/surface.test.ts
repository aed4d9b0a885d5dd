import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { routes } from '../../apps/api/routes/index.ts';
import { type Endpoint, surface } from './surface.ts';

/** The key of an endpoint, without the names of path parameters, which are not compared. */
const keyOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
const duplicatesOf = (keys: readonly string[]): string[] => keys.filter((key, at) => keys.indexOf(key) !== at);

/** The differences between the route table and the list of endpoints, one line each. */
function differences(table: readonly { method: string; path: string }[], listed: readonly Endpoint[]): string[] {
  const built = new Set(table.map(keyOf));
  const known = new Set(listed.map(keyOf));
  return [
    ...duplicatesOf(table.map(keyOf)).map((key) => `${key} is in the route table twice`),
    ...duplicatesOf(listed.map(keyOf)).map((key) => `${key} is listed twice`),
    ...listed.filter((one) => one.part === 'built' && !built.has(keyOf(one))).map((one) => `${keyOf(one)} is missing`),
    ...listed
      .filter((one) => one.part !== 'built' && built.has(keyOf(one)))
      .map((one) => `${keyOf(one)} is built: change its part in surface.ts`),
    ...table.filter((one) => !known.has(keyOf(one))).map((one) => `${keyOf(one)} is not listed in surface.ts`),
  ];
}

/** The endpoints in the tables of the specification. */
const endpointsIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) `(\/api[^`]+)`/gm)].map(([, method = '', path = '']) => keyOf({ method, path })),
  ),
];

describe('API surface', () => {
  it('the route table equals the list of endpoints', () => expect(differences(routes, surface)).to.deep.equal([]));

  it('every path is under /api, has no trailing slash and no duplicate parameter', () => {
    for (const { path } of routes) {
      expect(path).to.match(/^\/api(\/([a-z0-9@.-]+|\{\w+\}))+$/);
      expect(duplicatesOf([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)), path).to.deep.equal([]);
    }
  });

  it('the list has all endpoints of the specification, if it is beside the repository', () => {
    if (!existsSync('../shared/spec.md')) return;
    const inSpec = endpointsIn(readFileSync('../shared/spec.md', 'utf8'));
    expect(inSpec.length).to.be.greaterThan(50);
    expect(surface.filter((one) => one.from === 'spec').map(keyOf)).to.have.members(inSpec);
  });

  const [first] = surface as [Endpoint];
  const pending: Endpoint = { ...first, part: 'webhooks' };
  const cases: [what: string, table: readonly Endpoint[], listed: readonly Endpoint[], error: RegExp][] = [
    ['a missing route', [], [first], /is missing/],
    ['an unlisted route', [first], [], /is not listed/],
    ['a built route that is listed as pending', [first], [pending], /is built/],
    [
      'a duplicate route with another parameter name',
      [first, { ...first, path: first.path.replace('channelId', 'id') }],
      [first],
      /table twice/,
    ],
    ['an endpoint that is listed twice', [first], [first, pending], /listed twice/],
  ];
  for (const [what, table, listed, error] of cases)
    it(`the check detects ${what}`, () => expect(differences(table, listed).join('\n')).to.match(error));
});

import { expect } from 'chai';
import { Type } from 'typebox';
import { routes } from '../../../apps/api/routes/index.ts';
import { Refusal } from '../../../lib/base/errors.ts';
import { checkFit } from '../../../lib/contract/check.ts';
import { Name, Nullable } from '../../../lib/contract/shared.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { makePerson, refused } from '../../harness/factories.ts';

describe('what is wrong with a body', () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it('names every faulty field with a plain sentence', async () => {
    const body = { username: 'A', password: 'short', displayName: ' ' };
    const { errors, message } = await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/register', body);
    expect(errors).to.deep.equal([
      { path: '/username', message: 'Use 2 to 32 characters. Use only lowercase letters, numbers, _ and dots.' },
      { path: '/password', message: 'Use 8 to 256 characters.' },
      { path: '/displayName', message: 'Use one line that is not blank.' },
    ]);
    expect(message).to.equal('The request is not valid: check username, password, displayName.');
  });

  it('says in the message what is wrong when it is one field', async () => {
    const { message } = await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/login', { username: 'ada' });
    expect(message).to.equal('The request is not valid: check password (This field is required).');
  });

  it('names fields of the query', async () => {
    const person = await makePerson(api);
    const { errors } = await refused(api, [400, 'invalid_request'], person, 'GET', '/api/discovery/servers?limit=100&offset=-1');
    expect(errors).to.have.deep.members([
      { path: '/limit', message: 'Use a number: 1 to 48.' },
      { path: '/offset', message: 'Use a number: at least 0.' },
    ]);
  });

  const faultsOf = (schema: Parameters<typeof checkFit>[0], value: unknown) => {
    try {
      checkFit(schema, value, 'body');
    } catch (error) {
      return (error as Refusal).extra.errors;
    }
    return [];
  };
  const choice = Type.Union([Type.Literal('one'), Type.Literal('two')]);
  const cases: [what: string, schema: Parameters<typeof Type.Object>[0][string], value: unknown, message: string][] = [
    ['a missing field', Type.String(), undefined, 'This field is required.'],
    ['a number for a text', Type.String(), 5, 'This must be text.'],
    ['null for a list', Type.Array(Type.String()), null, 'This must be a list.'],
    ['a number for a text or null', Nullable(Name(10)), 5, 'This must be text.'],
    ['a long text or null', Nullable(Name(10)), 'x'.repeat(11), 'Use 1 to 10 characters.'],
    ['none of two', choice, 'three', 'Use one of: one, two.'],
    ['none of two or null', Nullable(choice), 'three', 'Use one of: one, two.'],
    ['too many entries', Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'Use at most 1 entries.'],
    ['a pattern without a sentence', Type.String({ pattern: '^a$' }), 'b', 'This has the wrong format.'],
  ];
  for (const [what, schema, value, message] of cases)
    it(`${what}: ${message}`, () => {
      expect(faultsOf(Type.Object({ field: schema }), { field: value })).to.deep.equal([{ path: '/field', message }]);
    });

  it('names 20 fields at most, and of a large value only the first', () => {
    const schema = Type.Object({ list: Type.Array(Type.Integer()) });
    expect(faultsOf(schema, { list: Array(100).fill('x') })).to.have.length(20);
    expect(faultsOf(schema, { list: Array(100_000).fill('x') })).to.deep.equal([
      { path: '/list/0', message: 'This must be a whole number.' },
    ]);
  });

  it('every pattern of a request has its sentence', () => {
    const without: string[] = [];
    const visit = (at: string, schema: unknown): void => {
      if (typeof schema !== 'object' || schema === null) return;
      if ('pattern' in schema && typeof schema.pattern === 'string' && !('patternText' in schema)) without.push(`${at} ${schema.pattern}`);
      for (const inner of Object.values(schema)) visit(at, inner);
    };
    for (const { method, path, body, query } of routes) for (const schema of [body, query]) visit(`${method} ${path}`, schema);
    expect(without).to.deep.equal([]);
  });
});

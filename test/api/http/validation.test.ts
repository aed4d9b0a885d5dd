import { expect } from 'chai';
import { Type } from 'typebox';
import { routes } from '../../../apps/api/routes/index.ts';
import { Refusal } from '../../../lib/base/errors.ts';
import { requireValid } from '../../../lib/contract/check.ts';
import { Choice } from '../../../lib/contract/schemas.ts';
import { Id, Name, Nullable } from '../../../lib/contract/shared.ts';
import { startTestApi } from '../../harness/api.ts';
import { makePerson } from '../../harness/factories.ts';
import { refused } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';

describe('errors of invalid bodies and queries', () => {
  const api = use(startTestApi);

  it('errors has every invalid field with a sentence', async () => {
    const body = { username: 'A', password: 'short', displayName: ' ' };
    const { errors, message } = await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/register', body);
    expect(errors).to.deep.equal([
      { path: '/username', message: 'Use 2 to 32 characters. Use only lowercase letters, numbers, _ and dots.' },
      { path: '/password', message: 'Use 8 to 256 characters.' },
      { path: '/displayName', message: 'Use one line that is not blank, without control characters.' },
    ]);
    expect(message).to.equal('The request is not valid: check username, password, displayName.');
  });

  it('message has the sentence when one field is invalid', async () => {
    const { message } = await refused(api, [400, 'invalid_request'], null, 'POST', '/api/auth/login', { username: 'ada' });
    expect(message).to.equal('The request is not valid: check password (This field is required).');
  });

  it('errors has the fields of the query', async () => {
    const person = await makePerson(api);
    const { errors } = await refused(api, [400, 'invalid_request'], person, 'GET', '/api/discovery/servers?limit=100&offset=-1');
    expect(errors).to.have.deep.members([
      { path: '/limit', message: 'Use a number: 1 to 48.' },
      { path: '/offset', message: 'Use a number: at least 0.' },
    ]);
  });

  const errorsOf = (schema: Parameters<typeof requireValid>[0], value: unknown) => {
    try {
      requireValid(schema, value, 'body');
    } catch (error) {
      return (error as Refusal).extra.errors;
    }
    return [];
  };
  const choice = Choice(['one', 'two']);
  const optionValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
  const idOrNew = Nullable(Type.Union([Id, Type.Literal('new')]));
  const cases: [what: string, schema: Parameters<typeof Type.Object>[0][string], value: unknown, message: string][] = [
    ['a missing field', Type.String(), undefined, 'This field is required.'],
    ['a number instead of text', Type.String(), 5, 'This must be text.'],
    ['null instead of a list', Type.Array(Type.String()), null, 'This must be a list.'],
    ['a number instead of text or null', Nullable(Name(10)), 5, 'Use text or null.'],
    ['an object instead of several types', optionValue, {}, 'Use text, a number, or true or false.'],
    ['a number instead of a choice or null', Nullable(choice), 5, 'Use one, two, or null.'],
    ['text that is no id and not the other value', idOrNew, 'abc', 'Use an id of 19 digits, or new.'],
    ['a number instead of an id or another value', idOrNew, 5, 'Use new, text, or null.'],
    ['another value than two of different types', Type.Union([Type.Literal('all'), Type.Literal(5)]), 6, 'Use one of: all, 5.'],
    ['another value than the only one', Type.Literal('ping'), 'pong', 'This must be ping.'],
    ['a value of none of the types of one schema', Type.Unsafe({ type: ['integer', 'null'] }), 'x', 'This must be a whole number or null.'],
    ['long text where null is allowed', Nullable(Name(10)), 'x'.repeat(11), 'Use 1 to 10 characters.'],
    ['another value of a choice', choice, 'three', 'Use one of: one, two.'],
    ['another value of a choice or null', Nullable(choice), 'three', 'Use one of: one, two.'],
    ['a number instead of a choice', choice, 3, 'Use one of: one, two.'],
    ['too many items', Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'Use at most 1 entries.'],
    ['a mismatch with a pattern without a sentence', Type.String({ pattern: '^a$' }), 'b', 'This has the wrong format.'],
  ];
  for (const [what, schema, value, message] of cases)
    it(`${what}: ${message}`, () => {
      expect(errorsOf(Type.Object({ field: schema }), { field: value })).to.deep.equal([{ path: '/field', message }]);
    });

  it('errors has only those of the alternative that a value is meant to be, or of all alternatives', () => {
    const cat = Type.Object({ kind: Type.Literal('cat'), lives: Type.Integer() });
    const dog = Type.Object({ kind: Type.Literal('dog'), name: Type.String() });
    const schema = Type.Object({ pets: Type.Array(Type.Union([cat, dog, Type.Null()])) });
    expect(errorsOf(schema, { pets: [{ kind: 'cat' }, { kind: 'dog', name: 5 }, 7, { kind: 'cow', lives: 1, name: 'x' }] })).to.deep.equal([
      { path: '/pets/0/lives', message: 'This field is required.' },
      { path: '/pets/1/name', message: 'This must be text.' },
      { path: '/pets/2', message: 'Use an object or null.' },
      { path: '/pets/3/kind', message: 'Use one of: cat, dog.' },
    ]);
  });

  it('errors has at most 20 fields, and only the first one of a large value', () => {
    const schema = Type.Object({ list: Type.Array(Type.Integer()) });
    expect(errorsOf(schema, { list: Array(100).fill('x') })).to.have.length(20);
    expect(errorsOf(schema, { list: Array(100_000).fill('x') })).to.deep.equal([
      { path: '/list/0', message: 'This must be a whole number.' },
    ]);
  });

  it('every pattern in the body or query of a route has a sentence', () => {
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

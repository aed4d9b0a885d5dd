import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { expect } from 'chai';
import { routes } from '../../apps/api/routes/index.ts';
import { catalogue, type ErrorCode, Refusal, refuse } from '../../lib/base/errors.ts';

/** The codes with their status in docs/behavior/requests.md#error-codes. `internal_error` is that of errors that are in no catalogue. */
const documented = [...readFileSync('docs/behavior/requests.md', 'utf8').matchAll(/^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(
  ([, status, names = '']) => [...names.matchAll(/\w+/g)].map(([code]) => [code, Number(status)] as const),
);

const codes = Object.keys(catalogue) as ErrorCode[];
const placeholdersOf = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

describe('error catalogue', () => {
  it('has every documented code with its status, and no other', () => {
    const statuses = codes.map((code) => [code, catalogue[code].status]);
    expect([...statuses, ['internal_error', 500]]).to.have.deep.members(documented);
  });

  it('marks exactly the codes of the specification as from: spec', () => {
    const marked = codes.filter((code) => catalogue[code].from === 'spec');
    expect(marked).to.have.members([
      'already_answered',
      'interaction_expired',
      'banned',
      'invites_paused',
      'too_many_servers',
      'not_public',
      'team_server',
    ]);
  });

  for (const code of codes)
    it(`${code} has a sentence whose placeholders are filled`, () => {
      const { text, status } = catalogue[code];
      expect(code).to.match(/^[a-z]+(_[a-z]+)*$/);
      expect(text).to.match(/^([A-Z].*|\{\w+\})\.$/);
      expect(text.replace(/\{\w+\}/g, '')).not.to.match(/[{}]/);
      const fill = Object.fromEntries(placeholdersOf(text).map((name) => [name, `<${name}>`]));
      const refusal = (() => {
        try {
          return (refuse as (code: ErrorCode, fill: object) => never)(code, fill);
        } catch (error) {
          return error;
        }
      })();
      expect(refusal).to.be.instanceOf(Refusal).and.include({ code, status });
      const { message } = refusal as Refusal;
      expect(message).not.to.match(/[{}]|undefined/);
      for (const name of placeholdersOf(text)) expect(message).to.contain(`<${name}>`);
    });

  it('every route lists error codes of the catalogue, each once', () => {
    for (const { method, path, errors } of routes) {
      expect(codes, `${method} ${path}`).to.include.members([...errors]);
      expect(new Set(errors).size, `${method} ${path}`).to.equal(errors.length);
    }
  });

  it('every code is used', () => {
    const sources = ['lib', 'apps/api', 'workers']
      .flatMap((top) => readdirSync(top, { recursive: true, encoding: 'utf8' }).map((file) => join(top, file.replaceAll('\\', '/'))))
      .filter((file) => file.endsWith('.ts') && file !== 'lib/base/errors.ts')
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const thrown = (code: string): boolean => new RegExp(`(?:refuse|Refusal)\\(\\s*'${code}'`).test(sources);
    const viaField = (code: string): boolean => code === 'invalid_request' && sources.includes('refuseField(');
    expect(codes.filter((code) => !thrown(code) && !viaField(code))).to.deep.equal([]);
  });
});

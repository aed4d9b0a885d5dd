import { expect } from 'chai';
import { type Program, type PythonKit, usePrograms } from './python-fixture.ts';

/** The error of a call, as the program prints it. */
export interface Failure {
  text: string;
  code: string;
  status?: number;
  missing?: string[];
  fields?: string[];
  requestId?: string;
}

/** Calls the operations of the API by a program, which reaches the API at the address that `url` returns. */
export function useCalls(kit: PythonKit, url: () => string, env: Record<string, string> = {}) {
  const run = usePrograms({ all: true });
  let program: Program;
  let count = 0;
  before(() => {
    program = run('calls', { ...kit.env(), PARLANCE_URL: url(), ...env });
  });
  const call = async (
    name: string,
    path: string[],
    fields: object = {},
    options: { cancelAfter?: number } = {},
  ): Promise<{ result?: unknown; error?: Failure }> => {
    const id = ++count;
    program.write({ id, call: name, path, fields, ...options });
    return program.waitFor((line) => line.id === id);
  };
  const succeed = async <T>(...request: Parameters<typeof call>): Promise<T> => {
    const { result, error } = await call(...request);
    expect(error, JSON.stringify(error)).to.equal(undefined);
    return result as T;
  };
  const fail = async (...request: Parameters<typeof call>): Promise<Failure> =>
    (await call(...request)).error ?? expect.fail('it succeeded');
  return { call, succeed, fail, log: () => program.log(), warning: () => program.waitFor(({ warning }) => warning !== undefined) };
}

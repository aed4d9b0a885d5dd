import { expect } from 'chai';
import { unknownId } from '../../harness/factories.ts';
import { use } from '../../harness/use.ts';
import { startFlakyApi } from '../javascript/flaky-api.ts';
import { type Program, type PythonKit, usePrograms, usePythonKit } from './python-fixture.ts';

/** The error of a call, as the program prints it. */
interface Failure {
  text: string;
  code: string;
  status?: number;
  missing?: string[];
  fields?: string[];
  requestId?: string;
}

/** A program that calls the operations of the API through a server that can fail. */
function useCalls(kit: PythonKit, env: Record<string, string> = {}) {
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const run = usePrograms({ all: true });
  let program: Program;
  let count = 0;
  before(() => {
    program = run('calls', { ...kit.env(), PARLANCE_URL: flaky.url, ...env });
  });
  const call = async (name: string, path: string[], fields: object = {}): Promise<{ result?: unknown; error?: Failure }> => {
    const id = ++count;
    program.write({ id, call: name, path, fields });
    return program.waitFor((line) => line.id === id);
  };
  const succeed = async <T>(...request: Parameters<typeof call>): Promise<T> => {
    const { result, error } = await call(...request);
    expect(error, JSON.stringify(error)).to.equal(undefined);
    return result as T;
  };
  const fail = async (...request: Parameters<typeof call>): Promise<Failure> =>
    (await call(...request)).error ?? expect.fail('it succeeded');
  return { flaky, succeed, fail, log: () => program.log(), warning: () => program.waitFor(({ warning }) => warning !== undefined) };
}

describe('sdk/python: requests', () => {
  const kit = usePythonKit();
  const { flaky, succeed, fail, log } = useCalls(kit, { TIMEOUT: '5', MAX_RETRIES: '3' });
  const listening = useCalls(kit, { PRINT_WARNINGS: '1' });
  beforeEach(() => {
    flaky.plan.length = 0;
    flaky.arrivals.length = 0;
  });
  const stored = (content: string): Promise<number> => kit.api.platform.db.messages.countDocuments({ content });

  for (const fate of ['refuse', 'hide', 'lose'] as const)
    it(`create nothing twice when requests fail (${fate})`, async () => {
      flaky.plan.push(fate, fate);
      await succeed('create_message', [kit.server.general], { content: `once, ${fate}` });
      expect(await stored(`once, ${fate}`)).to.equal(1);
      expect(flaky.arrivals).to.have.length(3);
      expect(new Set(flaky.arrivals.map(({ headers }) => headers['idempotency-key'])).size).to.equal(1);
    });

  it('upload files once when the answer is lost', async () => {
    flaky.plan.push('lose');
    const files = [
      ['notes.txt', 'some notes'],
      ['table.csv', 'a,b\n'],
    ];
    const { attachments } = await succeed<{ attachments: { filename: string; size: number; contentType: string }[] }>(
      'create_message',
      [kit.server.general],
      { content: 'with files', files },
    );
    expect(attachments.map(({ filename, size, contentType }) => [filename, size, contentType])).to.deep.equal([
      ['notes.txt', 10, 'text/plain'],
      ['table.csv', 4, 'text/csv'],
    ]);
    expect(await stored('with files')).to.equal(1);
  });

  it('succeed when the answer to a deletion is lost', async () => {
    const { id } = await kit.post('to be deleted');
    flaky.plan.push('lose');
    await succeed('delete_message', [kit.server.general, id]).catch(() => undefined);
    const own = await succeed<{ id: string }>('create_message', [kit.server.general], { content: 'own' });
    flaky.plan.push('lose');
    await succeed('delete_message', [kit.server.general, own.id]);
    expect(await stored('own')).to.equal(0);
  });

  it('are not repeated if they may run only once', async () => {
    flaky.plan.push('lose');
    expect((await fail('start_typing', [kit.server.general])).code).to.equal('failed');
    expect(flaky.arrivals).to.have.length(1);
  });

  it('give up after the last attempt', async () => {
    flaky.plan.push(...Array.from({ length: 4 }, () => 'refuse' as const));
    expect(await fail('get_me', [])).to.include({ status: 503, code: 'http_503' });
    expect(flaky.arrivals).to.have.length(4);
  });

  for (const id of ['', '.', '..'])
    it(`are not sent for the id "${id}", which would lead to another path`, async () => {
      expect(await fail('get_channel', [id])).to.include({ code: 'refused by the kit', text: `channelId must not be '${id}'` });
      expect(flaky.arrivals).to.have.length(0);
    });

  it('are repeated when there is no answer in time', async () => {
    flaky.plan.push('hang');
    expect(await succeed('get_me', [])).to.have.property('id', kit.bot.id);
    expect(flaky.arrivals).to.have.length(2);
  });

  it('that are refused raise an ApiError', async () => {
    expect(await fail('get_channel', [unknownId])).to.include({ status: 404, code: 'not_found' });
    const missing = await fail('create_role', [kit.server.id], { name: 'x' });
    expect(missing).to.deep.include({ status: 403, code: 'missing_permission', missing: ['Manage Roles'] });
    expect(missing.requestId).to.match(/^[\w-]{8,}$/);
    const faulty = await fail('create_message', [kit.server.general], { embeds: [{ title: 'x'.repeat(300) }] });
    expect(faulty.fields).to.deep.equal(['/embeds/0/title']);
    expect(faulty.text).to.include('/embeds/0/title');
  });

  it('keep what is not given, and clear what is None', async () => {
    const as = kit.owner.as;
    const role = await kit.api.call<{ id: string }>('POST', `/api/servers/${kit.server.id}/roles`, {
      as,
      body: { name: 'r', color: '#112233' },
    });
    const path = [kit.server.id, role.body.id];
    await kit.api.call('PATCH', `/api/servers/${kit.server.id}/roles/${kit.bot.roleId}`, {
      as,
      body: { permissions: 0b10001111, position: 2 },
    });
    expect(await succeed('update_role', path, { name: 'renamed' })).to.include({ name: 'renamed', color: '#112233' });
    expect(await succeed('update_role', path, { color: null })).to.include({ name: 'renamed', color: null });
  });

  it('log each warning of the service once, and no token', async () => {
    flaky.addedHeaders = { Warnings: 'unknown field /tts' };
    await succeed('get_me', []);
    await succeed('get_me', []);
    flaky.addedHeaders = {};
    expect(log().split('unknown field /tts')).to.have.length(2);
    expect((await fail('get_webhook', ['secret-part'])).text).to.not.include('secret-part');
    expect(log()).to.not.include(kit.bot.token);
  });

  it('hand warnings to a listener instead of the log', async () => {
    listening.flaky.addedHeaders = { Warnings: 'unknown field /tts' };
    await listening.succeed('get_me', []);
    expect((await listening.warning()).warning).to.equal('GET /api/auth/me: unknown field /tts');
    expect(listening.log()).to.not.include('unknown field');
  });

  it('send the token only where it is needed', async () => {
    await succeed('get_instance', []);
    await succeed('get_me', []);
    expect(flaky.arrivals.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, `Bot ${kit.bot.token}`]);
  });
});

describe('sdk/python: rate limits', () => {
  const kit = usePythonKit(async () => ({ RATE_LIMIT: '20/10' }));
  const { flaky, succeed } = useCalls(kit);

  it('are waited for, so that all requests succeed, and few are refused once the limit is known', async () => {
    const contents = Array.from({ length: 40 }, (_, at) => `limited ${at}`);
    await Promise.all(contents.map((content) => succeed('create_message', [kit.server.general], { content })));
    // The first answer tells which bucket the route has.
    await succeed('get_channel', [kit.server.general]);
    const before = flaky.arrivals.length;
    await Promise.all(contents.map(() => succeed('get_channel', [kit.server.general])));
    expect(flaky.arrivals.length - before).to.be.within(40, 60);
  });
});

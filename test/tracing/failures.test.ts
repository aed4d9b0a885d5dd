import { expect } from 'chai';
import { pino } from 'pino';
import { openTracing } from '../../lib/base/open-tracing.ts';
import { startTestApi } from '../harness/api.ts';
import { postMessage } from '../harness/factories.ts';
import { startOtlpReceiver } from '../harness/otlp-receiver.ts';
import { use, useServer } from '../harness/use.ts';

/** How many spans one request to the collector has, how many requests are under way at most, and how many spans wait. */
const [perRequest, requests, waiting] = [512, 4, 2_048];

describe('a collector of traces that does not answer', () => {
  const receiver = use(startOtlpReceiver);
  const { api, owner, server } = useServer({}, { start: () => startTestApi({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }) });
  const addSpans = async (name: string, count: number): Promise<void> => {
    for (let added = 0; added < count; added++) await api.platform.tracing.runRoot(name, {}, () => Promise.resolve());
  };

  it('holds up no request, and does not fill the memory with spans', async () => {
    receiver.answerWith(null);
    await addSpans('first', perRequest);
    await receiver.until(() => receiver.headers.length > 0);
    await postMessage(api, owner, server.general);
    await addSpans('further', 3 * waiting);
    await postMessage(api, owner, server.general);
    receiver.answerWith(200);
    // A span that arrives although it came last shows that no other waits.
    while (!receiver.spans.some(({ name }) => name === 'last')) {
      const received = receiver.headers.length;
      await addSpans('last', 1);
      await receiver.until(() => receiver.headers.length > received);
    }
    expect(receiver.spans.length).to.be.within(perRequest, requests * perRequest + waiting);
  });
});

describe('a collector of traces that refuses them', () => {
  const receiver = use(startOtlpReceiver);

  it('is logged once, and once more when it takes them again', async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
    const settings = { url: `${receiver.url}/v1/traces`, headers: {}, serviceName: 'test', sampler: 'always_on', ratio: 1 } as const;
    const tracing = await openTracing(settings, log);
    const fillRequest = async (): Promise<void> => {
      for (let count = 0; count < perRequest; count++) await tracing.runRoot('test', {}, () => Promise.resolve());
    };
    receiver.answerWith(400);
    for (const count of [1, 2, 3]) {
      await fillRequest();
      await receiver.until(() => receiver.headers.length === count);
    }
    receiver.answerWith(200);
    await fillRequest();
    await receiver.until(() => receiver.spans.length > 0);
    await tracing.close();
    expect(lines).to.deep.equal([
      'sending traces',
      'could not send traces; they are dropped until it works again',
      'traces are sent again',
    ]);
  });
});

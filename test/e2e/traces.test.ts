import { expect } from 'chai';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../harness/otlp-receiver.ts';
import { startOwn } from '../harness/own-process.ts';
import { recordEvents } from '../harness/parlance.ts';
import { type SeededServer, seedServer } from '../harness/seed.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';
import { storesOf } from '../operator/run-operator.ts';

/** Refuses every package of OpenTelemetry but the one that Prometheus' client loads. */
const hooks = `export async function resolve(name, context, next) {
  if (name.startsWith('@opentelemetry/') && name !== '@opentelemetry/api') throw new Error('loads ' + name);
  return next(name, context);
}`;
const asModule = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
const refuseOpenTelemetry = `--import=${asModule(`import { register } from 'node:module'; register(${JSON.stringify(asModule(hooks))});`)}`;

describe('traces of role processes', () => {
  let config: Config;
  let seeded: SeededServer;
  let stack: Stack | undefined;
  const receiver: OtlpReceiver = use(startOtlpReceiver);

  /** Starts an api, a gateway and a worker with `more` in their environment. */
  const start = async (more: Record<string, string>): Promise<Stack> => {
    stack = await startStack({ api: 1, gateway: 1, worker: 1 }, { ...storesOf(config), RATE_LIMIT: 'off', LOG_LEVEL: 'warn', ...more });
    const platform = await openApiPlatform(config, createLog('test', 'silent'));
    seeded = await seedServer(platform, { bots: 1, channels: 1 });
    await platform.close();
    return stack;
  };
  /** Posts a message and waits until the bot has received it. */
  const post = async ({ apiUrl, gatewayUrl }: Stack): Promise<void> => {
    const bot = await recordEvents({ gatewayUrl: gatewayUrl() }, String(seeded.bots[0]?.token));
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${seeded.ownerToken}` };
    const path = `${apiUrl()}/api/channels/${seeded.channelIds[0]}/messages`;
    const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify({ content: 'x' }) });
    expect(answer.status).to.equal(201);
    await bot.waitFor(({ t }) => t === 'MESSAGE_CREATE');
    await bot.client.close();
  };
  before(() => {
    config = testConfig();
  });
  afterEach(() => stack?.close());

  it('are sent before the processes end, and belong together', async () => {
    const started = await start({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/any/path` });
    await post(started);
    await started.close();
    const deliver = receiver.spans.find(({ name }) => name === 'deliver MESSAGE_CREATE');
    const above = (child: typeof deliver) => receiver.spans.find(({ spanId }) => spanId === child?.parentSpanId);
    const chain = [deliver, above(deliver), above(above(deliver))];
    expect(chain.map((span) => span?.service)).to.deep.equal(['parlance-gateway', 'parlance-worker', 'parlance-api']);
    expect(new Set(chain.map((span) => span?.traceId)).size).to.equal(1);
  });

  it('do not keep a process from ending while the collector does not answer', async () => {
    receiver.answerWith(null);
    const started = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    await post(started);
    const ends = [...started.apis, ...started.workers, ...started.gateways].map((role) => role.stop('SIGTERM'));
    expect(await Promise.all(ends)).to.deep.equal([0, 0, 0]);
    receiver.answerWith(200);
  });

  it('load no package of OpenTelemetry unless a collector is set', async () => {
    const NODE_OPTIONS = refuseOpenTelemetry;
    await post(await start({ NODE_OPTIONS }));
    const withCollector = startOwn('worker', config, { env: { NODE_OPTIONS, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } });
    expect(await withCollector.catch(({ message }: Error) => message)).to.equal('ended before it was ready: 1');
  });
});

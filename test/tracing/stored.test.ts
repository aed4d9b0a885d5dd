import { expect } from 'chai';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startTestApi, startTestApiWithWorker } from '../harness/api.ts';
import { dumpRedis } from '../harness/dumps.ts';
import { postMessage } from '../harness/factories.ts';
import { entriesOf } from '../harness/log.ts';
import { startOtlpReceiver } from '../harness/otlp-receiver.ts';
import { connectRedis } from '../harness/stores.ts';
import { use, useServer } from '../harness/use.ts';

const cases: [of: string, sampler: Record<string, string> | null, isStored: boolean][] = [
  ['an installation without a collector', null, false],
  ['a trace that the sampler does not take', { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, false],
  ['a trace that is recorded', {}, true],
];

for (const [of, sampler, isStored] of cases)
  describe(`the stores of ${of}`, () => {
    const receiver = use(startOtlpReceiver);
    const start = () => startTestApi(sampler === null ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...sampler });
    const { api, owner, server } = useServer({}, { start: () => startTestApiWithWorker(start) });
    const redis = use(() => connectRedis(api.platform.config));

    it(`${isStored ? 'have' : 'do not have'} its context in the message, in the job and in the log`, async () => {
      const { id } = await postMessage(api, owner, server.general, 'http://127.0.0.1:1/page');
      const stored = await api.platform.db.messages.findOne({ _id: id });
      expect(stored?.trace !== undefined).to.equal(isStored);
      const readQueues = async (): Promise<string> => dumpRedis(redis, api.platform.config.REDIS_PREFIX);
      while (!(await readQueues()).includes('fetch-previews')) await new Promise((resolve) => setImmediate(resolve));
      expect(/00-[0-9a-f]{32}-[0-9a-f]{16}-01/.test(await readQueues())).to.equal(isStored);
      await relayEvents(api.worker, 'channel', server.general);
      const [entry] = await entriesOf(api.platform.config, serverPlace(server.id)).then((all) =>
        all.filter(({ name }) => name === 'MESSAGE_CREATE'),
      );
      expect('trace' in (entry?.head ?? {})).to.equal(isStored);
    });
  });

import { expect } from 'chai';
import { type Config, readConfig } from '../../config/index.ts';

const stores = { MONGODB_URL: 'mongodb://localhost/x', REDIS_URL: 'redis://localhost', APP_KEY: Buffer.alloc(32, 1).toString('base64') };
const read = (more: Record<string, string>): Config => readConfig({ ...stores, ...more });

describe('settings of traces', () => {
  it('are off by default, and when they are empty, as Docker Compose passes them', () => {
    const names = ['ENDPOINT', 'TRACES_ENDPOINT', 'HEADERS'].map((name) => `OTEL_EXPORTER_OTLP_${name}`);
    const empty = [...names, 'OTEL_SERVICE_NAME', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'].map((name) => [name, '']);
    for (const more of [{}, Object.fromEntries(empty) as Record<string, string>])
      expect(read(more)).to.deep.include({ tracesUrl: '', OTEL_TRACES_SAMPLER: 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: 1 });
  });

  it('send to /v1/traces of the collector, or to the URL for traces as it is', () => {
    for (const OTEL_EXPORTER_OTLP_ENDPOINT of ['http://collector:4318', 'http://collector:4318/'])
      expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT }).tracesUrl).to.equal('http://collector:4318/v1/traces');
    const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'https://traces.example.org/in';
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }).tracesUrl).to.equal(
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    );
  });

  it('read headers with encoded values', () => {
    const { OTEL_EXPORTER_OTLP_HEADERS } = read({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-tenant=a%2Cb=c' });
    expect(OTEL_EXPORTER_OTLP_HEADERS).to.deep.equal({ authorization: 'Basic YTpi', 'x-tenant': 'a,b=c' });
  });

  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret-to-look-for'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'],
    ['OTEL_TRACES_SAMPLER', 'xray'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'all'],
  ] as const)
    it(`refuse ${name}=${value} and name the setting, not the value`, () =>
      expect(() => read({ [name]: value })).to.throw(
        new RegExp(`^Invalid configuration: ${name} must be (?!.*${value.replace('.', '\\.')}$)`),
      ));
});

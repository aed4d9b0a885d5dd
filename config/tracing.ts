import { emptyAs, oneOf, setting, text, url } from './setting.ts';

/** The values of OTEL_TRACES_SAMPLER that are supported. */
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

function readHeaders(value: string): Readonly<Record<string, string>> {
  const items = value.split(',').filter((item) => item.trim() !== '');
  const pairs = items.map((item) => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=((?:[^%]|%[0-9a-fA-F]{2})*)$/.exec(item));
  if (pairs.includes(null)) throw new Error('must be a comma-separated list of name=value, with percent-encoded values');
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', decodeURIComponent(pair?.[2] ?? '').trim()]));
}

function readRatio(value: string): number {
  const ratio = Number(value || '1');
  if (!(ratio >= 0 && ratio <= 1)) throw new Error('must be a number from 0 to 1');
  return ratio;
}

/** The settings of traces, as the OpenTelemetry specification names them (docs/operations.md#traces). */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    'URL of an OpenTelemetry collector, such as http://collector:4318. It receives traces by OTLP over HTTP, as JSON, at /v1/traces. Empty: no traces.',
    '',
    url('http:', 'https:'),
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    'The whole URL that receives traces, instead of OTEL_EXPORTER_OTLP_ENDPOINT.',
    '',
    url('http:', 'https:'),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    'Headers of the requests with traces: comma-separated name=value pairs, with percent-encoded values.',
    '',
    readHeaders,
  ),
  OTEL_SERVICE_NAME: setting('Name of the service in traces. Default: parlance- and the role, such as parlance-api.', '', text),
  OTEL_TRACES_SAMPLER: setting(
    `Which traces are recorded: ${samplers.join(', ')}.`,
    'parentbased_always_on',
    emptyAs(oneOf(...samplers), 'parentbased_always_on'),
  ),
  OTEL_TRACES_SAMPLER_ARG: setting('Share of traces that a sampler with traceidratio records, from 0 to 1.', '1', readRatio),
} as const;

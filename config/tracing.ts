/** The values of OTEL_TRACES_SAMPLER that are supported. */
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

function readUrl(text: string): string {
  if (text !== '' && !(URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)))
    throw new Error('must be a URL that begins with http: or https://');
  return text.replace(/\/$/, '');
}

function readHeaders(text: string): Readonly<Record<string, string>> {
  const items = text.split(',').filter((item) => item.trim() !== '');
  const pairs = items.map((item) => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=((?:[^%]|%[0-9a-fA-F]{2})*)$/.exec(item));
  if (pairs.includes(null)) throw new Error('must be a comma-separated list of name=value, with percent-encoded values');
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', decodeURIComponent(pair?.[2] ?? '').trim()]));
}

function readSampler(text: string): (typeof samplers)[number] {
  const found = samplers.find((one) => one === (text || 'parentbased_always_on'));
  if (found === undefined) throw new Error(`must be one of ${samplers.join(', ')}`);
  return found;
}

function readRatio(text: string): number {
  const ratio = Number(text || '1');
  if (!(ratio >= 0 && ratio <= 1)) throw new Error('must be a number from 0 to 1');
  return ratio;
}

/** The settings of traces, as the OpenTelemetry specification names them (docs/operations.md#traces). */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    description:
      'URL of an OpenTelemetry collector, such as http://collector:4318. It receives traces by OTLP over HTTP, as JSON, at /v1/traces. Empty: no traces.',
    defaultText: '',
    read: readUrl,
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    description: 'The whole URL that receives traces, instead of OTEL_EXPORTER_OTLP_ENDPOINT.',
    defaultText: '',
    read: readUrl,
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    description: 'Headers of the requests with traces: comma-separated name=value pairs, with percent-encoded values.',
    defaultText: '',
    read: readHeaders,
  },
  OTEL_SERVICE_NAME: {
    description: 'Name of the service in traces. Default: parlance- and the role, such as parlance-api.',
    defaultText: '',
    read: (text: string): string => text,
  },
  OTEL_TRACES_SAMPLER: {
    description: `Which traces are recorded: ${samplers.join(', ')}.`,
    defaultText: 'parentbased_always_on',
    read: readSampler,
  },
  OTEL_TRACES_SAMPLER_ARG: {
    description: 'Share of traces that a sampler with traceidratio records, from 0 to 1.',
    defaultText: '1',
    read: readRatio,
  },
} as const;

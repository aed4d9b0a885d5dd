import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from './log.ts';
import { noSpan, type SpanOptions, type TraceContext, type TraceSpan, type Tracing, type TracingSettings } from './tracing.ts';

/** How many finished spans wait at most, and how many one request sends. Further spans are dropped. */
const maxSpans = { waiting: 2_048, perRequest: 512 };
/** How many requests are under way at most: when the process stops, all that wait are sent at once. */
const maxRequests = maxSpans.waiting / maxSpans.perRequest;
/** How long a request with spans may take, with its repetitions, and how long the process waits for the last ones when it stops, in milliseconds. */
const timeoutMs = { request: 10_000, close: 2_000 };

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

function createSampler({ sampler, ratio }: TracingSettings): Sampler {
  const [, isParentBased, name] = /^(parentbased_)?(.+)$/.exec(sampler) ?? [];
  const root =
    name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

/** Sends spans with `exporter`, and logs when that begins to fail and when it works again. */
function logFailures(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== 0;
        if (hasFailed && !isFailing)
          log.warn({ reason: result.error?.message }, 'could not send traces; they are dropped until it works again');
        if (!hasFailed && isFailing) log.info('traces are sent again');
        isFailing = hasFailed;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** What a span says of an error: no message, because messages may hold content. */
const toErrorType = (error: unknown): string => (error instanceof Error ? error.name : 'unknown');

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/;

/** The W3C traceparent of a recorded span. */
function toContext(span: Span): TraceContext {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return (traceFlags & TraceFlags.SAMPLED) === 0 ? {} : { trace: `00-${traceId}-${spanId}-01` };
}

/** Creates the traces of a process. Importing this file loads the packages of OpenTelemetry. */
export function createTracing(settings: TracingSettings, log: Logger): Tracing {
  const exporter = new OTLPTraceExporter({
    url: settings.url,
    headers: { ...settings.headers },
    timeoutMillis: timeoutMs.request,
    concurrencyLimit: maxRequests,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': settings.serviceName, 'service.instance.id': randomUUID() }),
    sampler: createSampler(settings),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: logFailures(exporter, log),
        maxQueueSize: maxSpans.waiting,
        maxExportBatchSize: maxSpans.perRequest,
        exportTimeoutMillis: timeoutMs.request + 1_000,
      }),
    ],
  });
  const tracer = provider.getTracer('parlance');
  const currentSpan = new AsyncLocalStorage<Span>();

  const readParent = (traceparent: string): Span | undefined => {
    const [, traceId, spanId] = traceparentPattern.exec(traceparent) ?? [];
    return traceId && spanId ? trace.wrapSpanContext({ traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true }) : undefined;
  };
  const begin = (name: string, { kind = 'internal', startMs, attributes = {} }: SpanOptions, parent?: Span): Span =>
    tracer.startSpan(
      name,
      { kind: kinds[kind], attributes, ...(startMs === undefined ? {} : { startTime: startMs }) },
      parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT,
    );
  const toTraceSpan = (span: Span): TraceSpan => ({
    context: toContext(span),
    setName: (name) => void span.updateName(name),
    setAttributes: (attributes) => void span.setAttributes(attributes),
    end(errorType) {
      if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', errorType);
      span.end(performance.now());
    },
  });
  const runIn = async <T>(span: Span, work: (span: TraceSpan) => Promise<T>): Promise<T> => {
    const traceSpan = toTraceSpan(span);
    try {
      const result = await currentSpan.run(span, work, traceSpan);
      traceSpan.end();
      return result;
    } catch (error) {
      traceSpan.end(toErrorType(error));
      throw error;
    }
  };

  log.info({ service: settings.serviceName, to: new URL(settings.url).origin }, 'sending traces');
  return {
    runRoot: (name, options, work) => runIn(begin(name, options), work),
    run(name, options, work) {
      const parent = options.parent === undefined ? currentSpan.getStore() : readParent(options.parent);
      return parent ? runIn(begin(name, options, parent), work) : work(noSpan);
    },
    start(name, options) {
      const parent = readParent(options.parent);
      return parent ? toTraceSpan(begin(name, options, parent)) : noSpan;
    },
    current() {
      const span = currentSpan.getStore();
      return span ? toContext(span) : noSpan.context;
    },
    close: () => Promise.race([provider.shutdown().catch(() => undefined), sleep(timeoutMs.close, undefined, { ref: false })]),
  };
}

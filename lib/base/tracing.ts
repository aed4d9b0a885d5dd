/** Where traces are sent to, and which of them. */
export interface TracingSettings {
  /** The URL that receives spans by OTLP over HTTP; '' for no traces. */
  url: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  sampler: SamplerName;
  /** The share of traces that a sampler with a ratio records, from 0 to 1. */
  ratio: number;
}

/** A sampler of the OpenTelemetry specification that needs no service of its own. */
type SamplerName = `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`;

/** What a span is in its trace: `server` and `client` are the two ends of a request, `producer` and `consumer` those of an event or job. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** The context of a recorded span, to store beside an event or job. `trace` is a W3C traceparent; it is absent when nothing is recorded. */
export interface TraceContext {
  readonly trace?: string;
}

/** A span under way. It holds neither content nor secrets, nor the ids of accounts, servers, channels and messages (docs/security.md#traces). */
export interface TraceSpan {
  readonly context: TraceContext;
  setName(name: string): void;
  setAttributes(attributes: Record<string, string | number>): void;
  /** Ends the span. `errorType` marks it as failed: the name of the error or a status, never its message. A second call has no effect. */
  end(errorType?: string): void;
}

/** How a span begins. `parent`: the traceparent of a span in another process. `startMs`: when it began, by the monotonic clock of the process; default: now. */
export interface SpanOptions {
  kind?: SpanKind;
  parent?: string;
  startMs?: number;
  attributes?: Record<string, string | number>;
}

/** The traces of one process (docs/operations.md#traces). */
export interface Tracing {
  /** Runs `work` in the first span of a new trace, if the sampler takes it. */
  runRoot<T>(name: string, options: Omit<SpanOptions, 'parent'>, work: (span: TraceSpan) => Promise<T>): Promise<T>;
  /** Runs `work` in a span below `parent`, or below the current span. Without either it only runs `work`. */
  run<T>(name: string, options: SpanOptions, work: (span: TraceSpan) => Promise<T>): Promise<T>;
  /** Begins a span that is not the current one of any code. Call its `end`. */
  start(name: string, options: SpanOptions & { parent: string }): TraceSpan;
  /** The context of the current span; empty when there is none, or when it is not recorded. */
  current(): TraceContext;
  /** Sends the spans that are left, for at most 2 s. */
  close(): Promise<void>;
}

/** A span that is not recorded. */
export const noSpan: TraceSpan = { context: {}, setName: () => undefined, setAttributes: () => undefined, end: () => undefined };

/** No traces, at no cost. */
export const noTracing: Tracing = {
  runRoot: (_name, _options, work) => work(noSpan),
  run: (_name, _options, work) => work(noSpan),
  start: () => noSpan,
  current: () => noSpan.context,
  close: () => Promise.resolve(),
};

import type { Logger } from './log.ts';
import { noTracing, type Tracing, type TracingSettings } from './tracing.ts';

/** Opens the traces of a process. The packages of OpenTelemetry are loaded only if there is a URL to send traces to. */
export async function openTracing(settings: TracingSettings, log: Logger): Promise<Tracing> {
  if (settings.url === '') return noTracing;
  const { createTracing } = await import('./otlp-tracing.ts');
  return createTracing(settings, log);
}

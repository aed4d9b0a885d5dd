import type { TraceSpan } from '../../base/tracing.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { PlacedEvent } from './placed.ts';

/** By the id of a pending event, the traceparent of the write that caused it. Events of writes that are not traced are missing. */
export type EventTraces = ReadonlyMap<string, string>;

/** The traces of the pending events of these documents. */
export function collectTraces(documents: readonly { outbox?: readonly OutboxEntry[] }[]): EventTraces {
  const traces = new Map<string, string>();
  for (const { outbox = [] } of documents) for (const { id, trace } of outbox) if (trace !== undefined) traces.set(id, trace);
  return traces;
}

/**
 * Appends events by `append`. Each event with a trace gets a span from `startMs`, a moment before it was read, to the end of the append. The span's context is
 * stored in the entry, so that the gateway continues the trace.
 */
export async function appendTraced<T>(
  { tracing }: WorkerPlatform,
  { events, traces = new Map() }: { events: readonly PlacedEvent[]; traces?: EventTraces },
  startMs: number,
  append: (events: readonly PlacedEvent[]) => Promise<T>,
): Promise<T> {
  if (traces.size === 0) return append(events);
  const spans: TraceSpan[] = [];
  const addTrace = (event: PlacedEvent): PlacedEvent => {
    const parent = traces.get(event.id);
    if (parent === undefined) return event;
    const attributes = { 'parlance.event': event.name, 'parlance.batch': events.length };
    const span = tracing.start(`relay ${event.name}`, { kind: 'producer', parent, startMs, attributes });
    spans.push(span);
    return { ...event, ...span.context };
  };
  const endAll = (errorType?: string): void => {
    for (const span of spans) span.end(errorType);
  };
  try {
    const appended = await append(events.map(addTrace));
    endAll();
    return appended;
  } catch (error) {
    endAll('append failed');
    throw error;
  }
}

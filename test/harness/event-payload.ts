import { createExample } from '../../apps/api/documents/examples.ts';
import { type EventName, getEventDefinition } from '../../lib/contract/events.ts';

/** The payload of a log entry: an example of the contract with `changes`. A gateway makes a complete frame of it. */
export function toPayload(name: EventName, changes: object): string {
  if (name === 'SERVER_CREATE') return JSON.stringify(changes); // the log keeps only the id
  const { data, hasToken } = getEventDefinition(name);
  const payload = { ...(createExample(data) as object), ...changes };
  return JSON.stringify(hasToken ? { ...payload, token: undefined } : payload);
}

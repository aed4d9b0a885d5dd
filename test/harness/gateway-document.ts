import { renderAsyncApi } from '../../apps/api/documents/asyncapi.ts';
import { closeObjects, createValidators, listFaults } from './document-validators.ts';

/** The parts of the AsyncAPI document that are compared with frames. */
interface Document {
  components: { messages: Record<string, { payload: { properties: { op: { const: number }; t?: { const: string } } } }> };
  operations: Record<string, { action: 'send' | 'receive'; messages: [{ $ref: string }] }>;
  'x-close-codes': { code: number }[];
}

const document: Document = JSON.parse(JSON.stringify(renderAsyncApi('ws://127.0.0.1/gateway')));
/** Clients ignore fields that they do not know, but the gateway must not send fields that are not described. */
const validatorOf = createValidators(closeObjects(document));

/** A frame of the gateway or a client. */
interface Frame {
  op: number;
  t?: string;
}

const keyOf = (sentBy: 'client' | 'gateway', { op, t }: Frame): string => [sentBy, op, t].join(' ');

/** The schema of each message, by its sender, opcode and event name. */
const pointers = new Map(
  Object.values(document.operations).map(({ action, messages: [{ $ref }] }) => {
    const key = $ref.slice($ref.lastIndexOf('/') + 1);
    const { op, t } = document.components.messages[key]?.payload.properties ?? {};
    const frame = { op: op?.const ?? Number.NaN, ...(t && { t: t.const }) };
    return [keyOf(action === 'send' ? 'gateway' : 'client', frame), `#/components/messages/${key}/payload`];
  }),
);

/** The faults of a frame by the AsyncAPI document that the API serves, or an empty list. */
export function listFrameFaults(frame: Frame, sentBy: 'client' | 'gateway'): string[] {
  const pointer = pointers.get(keyOf(sentBy, frame));
  return pointer ? listFaults(validatorOf(pointer), frame) : [`the ${sentBy} sends no frame with op ${frame.op} and t ${frame.t}`];
}

/**
 * Throws if a frame that a client received is not as the AsyncAPI document says: an unknown opcode or event, a missing or undeclared field, a wrong type. Call it
 * where frames arrive: in a listener it throws an uncaught exception, and the running test fails.
 */
export function requireDocumentedFrame(frame: Frame): void {
  const faults = listFrameFaults(frame, 'gateway');
  if (faults.length === 0) return;
  const name = frame.t ?? `op ${frame.op}`;
  throw new Error(`${name} is not as the AsyncAPI document says:\n${faults.join('\n')}\n${JSON.stringify(frame).slice(0, 2000)}`);
}

/** Codes without an entry in the document, which names them in a sentence: the connection broke, too many fragments, and a frame was too large. */
const protocolCodes = [1006, 1008, 1009];

/** Throws if the AsyncAPI document does not declare a code with which the gateway closed a socket. A close that the client began has the client's code. */
export function requireDocumentedClose(code: number, reason: string): void {
  const isDeclared = protocolCodes.includes(code) || document['x-close-codes'].some((declared) => declared.code === code);
  if (!isDeclared) throw new Error(`the close code ${code} (${reason}) is not in the AsyncAPI document`);
}

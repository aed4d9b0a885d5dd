import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { renderAsyncApi } from '../../apps/api/asyncapi.ts';

type Json = Record<string, unknown>;
interface Message {
  payload: { properties: Record<string, Json> };
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A copy of a schema whose objects have no other properties than the described ones. Clients ignore others, but the gateway must not send them. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (!isObject(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closeObjects(inner)]));
  return isObject(value.properties) && value.type === 'object' ? { additionalProperties: false, ...copy } : copy;
}

/** A frame of the gateway or a client. */
interface Frame {
  op: number;
  t?: string;
}

/** Creates a function that returns the faults of a frame by the AsyncAPI document `document`, as text; empty if there are none. */
export function createFrameCheck(document: Json): (frame: Frame, sentBy: 'client' | 'gateway') => string {
  const { components, operations } = document as unknown as {
    components: { messages: Record<string, Message> };
    operations: Record<string, { action: 'send' | 'receive'; messages: { $ref: string }[] }>;
  };
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv, ['date-time']);
  ajv.addSchema({ $id: 'gateway', components: closeObjects(components) });
  const validators = new Map<string, ValidateFunction>();
  for (const { action, messages } of Object.values(operations))
    for (const { $ref } of messages) {
      const key = $ref.split('/').at(-1) ?? '';
      const { op, t } = components.messages[key]?.payload.properties ?? {};
      const name = [action === 'send' ? 'gateway' : 'client', op?.const, t?.const].join(' ');
      validators.set(name, ajv.compile({ $ref: `gateway#/components/messages/${key}/payload` }));
    }
  return (frame, sentBy) => {
    const validate = validators.get([sentBy, frame.op, frame.t].join(' '));
    if (!validate) return `no message of the document has op ${frame.op} and t ${frame.t} from the ${sentBy}`;
    return validate(frame)
      ? ''
      : (validate.errors ?? [])
          .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
          .join('; ');
  };
}

const document = JSON.parse(JSON.stringify(renderAsyncApi('ws://127.0.0.1/gateway'))) as Json;
/** The faults of a frame by the AsyncAPI document that the API serves. */
export const findFrameFaults = createFrameCheck(document);

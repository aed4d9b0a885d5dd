import { TextDecoder } from 'node:util';
import { refuse } from '../../../lib/base/errors.ts';

function createDecoder(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return refuse('unsupported_media_type', { expected: 'text in UTF-8' });
  }
}

/**
 * The text of a body, or of a part of it. `charset` is the parameter of its Content-Type, as browsers understand it; UTF-8 if it is missing or empty. A byte
 * order mark is removed. Refuses an unknown character set (415), and bytes that are not text in it (400), because text with replacement characters is not what
 * the caller sent. `what` names the bytes in the error.
 */
export function decodeText(bytes: Uint8Array, charset: string | undefined, what: string): string {
  const decoder = createDecoder(charset || 'utf-8');
  try {
    // In two calls, because Node.js 20 decodes Windows-1252 as ISO-8859-1 in one.
    return decoder.decode(bytes, { stream: true }) + decoder.decode();
  } catch {
    return refuse('invalid_request', { reason: `${what} is not valid text in ${decoder.encoding}` });
  }
}

const refuseProto = (key: string, value: unknown): unknown => {
  if (key === '__proto__') throw new SyntaxError('a field has the name __proto__');
  return value;
};

/** The value of a JSON text. Refuses invalid JSON and a field `__proto__` (400). `what` names the text in the error. */
export function parseJson(text: string, what: string): unknown {
  // A call for each value is slow, so it is made only if the text may have that name, which may be escaped.
  const mayHaveProto = text.includes('__proto__') || text.includes('\\u00');
  try {
    return JSON.parse(text, mayHaveProto ? refuseProto : undefined);
  } catch {
    return refuse('invalid_request', { reason: `${what} is not valid JSON` });
  }
}

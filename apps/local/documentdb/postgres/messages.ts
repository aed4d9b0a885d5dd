/** A statement to prepare once a connection: a name that is unique among all statements, and its text. */
export interface Statement {
  name: string;
  text: string;
}

/** A parameter in Postgres' binary form; strings are sent as UTF-8, `null` as NULL. */
export type Parameter = Buffer | string | null;

const protocolVersion = 196_608;

/** The first message of a connection. */
export function startupMessage(settings: Record<string, string>): Buffer {
  const body = Object.entries(settings)
    .map(([name, value]) => `${name}\0${value}\0`)
    .join('');
  const message = Buffer.alloc(8 + Buffer.byteLength(body) + 1);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(protocolVersion, 4);
  message.write(body, 8);
  return message;
}

/** Parse: prepares a statement under its name, the types of its parameters left to the server. */
export function parseMessage({ name, text }: Statement): Buffer {
  const body = `${name}\0${text}\0`;
  const message = Buffer.alloc(5 + Buffer.byteLength(body) + 2);
  message.write('P');
  message.writeInt32BE(message.length - 1, 1);
  message.write(body, 5);
  return message;
}

/** Bind, Execute and Sync in one buffer: parameters and results in binary form. */
export function executeMessage(name: string, parameters: readonly Parameter[]): Buffer {
  const nameBytes = Buffer.byteLength(name);
  let size = 1 + 4 + 1 + nameBytes + 1 + 2 + 2 + 2 + 2 + 2 + 10 + 5;
  for (const value of parameters) size += 4 + byteLength(value);
  const message = Buffer.allocUnsafe(size);
  message[0] = 0x42;
  message.writeInt32BE(size - 16, 1);
  message[5] = 0;
  let at = 6 + message.write(name, 6, 'latin1');
  message[at] = 0;
  message.writeInt16BE(1, at + 1);
  message.writeInt16BE(1, at + 3);
  message.writeInt16BE(parameters.length, at + 5);
  at += 7;
  for (const value of parameters) {
    message.writeInt32BE(value === null ? -1 : byteLength(value), at);
    at += 4;
    if (typeof value === 'string') at += message.write(value, at);
    else if (value) at += value.copy(message, at);
  }
  message.writeInt16BE(1, at);
  message.writeInt16BE(1, at + 2);
  message.write('E\0\0\0\x09\0\0\0\0\0', at + 4, 'latin1');
  message.write('S\0\0\0\x04', at + 14, 'latin1');
  return message;
}

/** The columns of a DataRow message, views into it. */
export function rowColumns(message: Buffer): (Buffer | null)[] {
  const columns: (Buffer | null)[] = [];
  let at = 7;
  for (let left = message.readInt16BE(5); left > 0; left--) {
    const size = message.readInt32BE(at);
    at += 4;
    columns.push(size < 0 ? null : message.subarray(at, at + size));
    if (size > 0) at += size;
  }
  return columns;
}

/** The fields of an ErrorResponse by their letter: `C` SQLSTATE, `M` message, `D` detail. */
export function errorFields(message: Buffer): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 5; message[at]; ) {
    const end = message.indexOf(0, at + 1);
    fields[String.fromCharCode(message[at] ?? 0)] = message.toString('utf8', at + 1, end);
    at = end + 1;
  }
  return fields;
}

function byteLength(value: Parameter): number {
  if (value === null) return 0;
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length;
}

import { bsonType, eachElement, numberField } from './bson-scan.ts';
import type { Command } from './command.ts';

const writes = new Set(['insert', 'update', 'delete', 'findAndModify', 'findandmodify']);

/**
 * Whether a command may be acknowledged before it is on disk: only a write with the explicit write concern `{ w: 1, j: false }`. A write that omits either
 * field is durable, like mongod's default `w: 'majority'`.
 */
export function isRelaxedWrite({ name, body, fields }: Command): boolean {
  const concern = writes.has(name) ? fields.get('writeConcern') : undefined;
  if (concern?.type !== bsonType.document) return false;
  let isOne = false;
  let isUnjournaled = false;
  eachElement(body, concern.at, (key, field) => {
    if (key === 'w') isOne = numberField(body, field) === 1;
    else if (key === 'j') isUnjournaled = field.type === bsonType.bool && body[field.at] === 0;
  });
  return isOne && isUnjournaled;
}

import type { Contract, Operation, Schema } from './contract.ts';
import { PythonTypes, toDocstring, toPascal, toSnake } from './python-types.ts';

/** A parameter of a method that is a field of the query or the body. */
interface Field {
  name: string;
  python: string;
  type: string;
  isRequired: boolean;
  isNullable: boolean;
  description: string | undefined;
}

const toMethodName = (id: string): string => toSnake(id);
const toEventName = (name: string): string => name.toLowerCase();

function toField(
  types: PythonTypes,
  id: string,
  name: string,
  schema: Schema,
  isRequired: boolean,
  description = schema.description,
): Field {
  const type = types.toType(schema, toPascal(id) + toPascal(name));
  return { name, python: toSnake(name), type, isRequired, isNullable: types.isNullable(schema), description };
}

/** A field in the signature of a method. Where null has a meaning of its own, what is left out is UNSET. */
function toParameter({ python, type, isRequired, isNullable }: Field): string {
  if (isRequired) return `${python}: ${type}`;
  return isNullable ? `${python}: ${type} | Unset = UNSET` : `${python}: ${type} | None = None`;
}

const toMapping = (fields: Field[]): string => `{${fields.map(({ name, python }) => `"${name}": ${python}`).join(', ')}}`;

function toReply(types: PythonTypes, { id, replies }: Operation): string {
  const named = replies.map((one) => (one ? types.toType(one, `${toPascal(id)}Result`).replace(/^Sequence\[/, 'list[') : 'None'));
  return [...new Set(named)].sort((a, b) => Number(a === 'None') - Number(b === 'None')).join(' | ');
}

function writeMethod(types: PythonTypes, operation: Operation): string {
  const { id, method, path, text, pathParameters, query, body, creates, needsToken } = operation;
  const paths = pathParameters.map((name) => toSnake(name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())));
  const request = [`"${method}"`, `"${path}"`];
  if (paths.length > 0) request.push(`(${paths.join(', ')},)`);
  const positional = ['self', ...paths.map((name) => `${name}: str`)];
  const named: Field[] = query.map(({ name, required, schema, description }) => toField(types, id, name, schema, required, description));
  if (named.length > 0) request.push(`query=${toMapping(named)}`);
  if (body?.kind === 'image') {
    positional.push('image: bytes');
    request.push('image=image');
  } else if (body) {
    const fields = types.toFields(body.schema);
    if (fields) {
      const own = Object.entries(fields.properties).map(([name, schema]) =>
        toField(types, id, name, schema, fields.required.includes(name)),
      );
      const isPlain = (field: Field): boolean => !field.isNullable;
      // A body may name another object of the kind that the path names.
      for (const field of own) if (paths.includes(field.python)) field.python = `target_${field.python}`;
      named.push(...own);
      request.push(`body=${toMapping(own.filter(isPlain))}`);
      if (!own.every(isPlain)) request.push(`nullable=${toMapping(own.filter((one) => one.isNullable))}`);
    } else {
      positional.push(`items: ${types.toType(body.schema, `${toPascal(id)}Item`)}`);
      request.push('body=items');
    }
  }
  const extras: string[] = [];
  if (body?.kind === 'json' && body.takesFiles) {
    extras.push('files: Sequence[File] | None = None');
    request.push('files=files');
  }
  if (creates) {
    extras.push('idempotency_key: str | None = None');
    request.push('creates=True', 'idempotency_key=idempotency_key');
  }
  if (!needsToken) request.push('needs_token=False');
  const keywords = [...named.filter((one) => one.isRequired), ...named.filter((one) => !one.isRequired)].map(toParameter).concat(extras);
  const parameters = [...positional, ...(keywords.length > 0 ? ['*', ...keywords] : [])];
  const names = parameters.map((one) => one.split(':')[0]);
  if (new Set(names).size !== names.length) throw new Error(`${id} has two parameters of one name: ${names.join(', ')}`);
  const notes = named.flatMap(({ python, description }) => (description ? [`\`\`${python}\`\`: ${description}`] : []));
  const docs = [text, `\`\`${method} ${path}\`\``, ...notes].join('\n\n');
  const reply = toReply(types, operation);
  const call = `await self._send(Request(${request.join(', ')}))`;
  const lines = reply === 'None' ? `        ${call}\n` : `        answer: ${reply} = decode(${reply}, ${call})\n        return answer\n`;
  const signature = `    async def ${toMethodName(id)}(${parameters.join(', ')}) -> ${reply}:\n`;
  const short =
    signature.length <= 140
      ? signature
      : `    async def ${toMethodName(id)}(\n${parameters.map((one) => `        ${one},\n`).join('')}    ) -> ${reply}:\n`;
  return short + toDocstring(docs, '        ') + lines;
}

const usedNames = (source: string, names: string[]): string[] => names.filter((name) => new RegExp(`\\b${name}\\b`).test(source));

function writeOperations(types: PythonTypes, operations: Operation[]): () => string {
  const methods = operations.map((one) => writeMethod(types, one));
  const code = methods.join('\n').replace(/"""[\s\S]*?"""/g, '');
  return () => `from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from ..codec import UNSET, Unset, decode
from ..files import File
from ..http import Request
from .permissions import Permissions
from .models import (
${usedNames(code, types.names)
  .map((name) => `    ${name},\n`)
  .join('')})


class Api:
    """The operations of the HTTP API that bots may call."""

    def __init__(self, send: Callable[[Request], Awaitable[Any]]) -> None:
        self._send = send

${methods.join('\n')}`;
}

/** The events that the client itself emits, and what their listeners get. */
const ownEvents = {
  READY: 'Ready',
  RESUMED: 'Resumed',
  DISCONNECTED: 'Disconnected',
  EVENTS_MISSED: 'EventsMissed',
  SESSION: 'Session',
  WARNING: 'str',
  ERROR: 'Exception',
};

function writeEvents(types: PythonTypes, events: Contract['events']): () => string {
  const named = events.map(({ name, payload, optIn }) => {
    const words = name.toLowerCase().split('_').map(toPascal).join('');
    return { name, type: types.toType(payload, `${words}Event`), optIn };
  });
  const used = [...new Set(named.map(({ type }) => type))].sort();
  // Listeners of commands get an interaction with methods that answer.
  const listened = [
    ...named.map(({ name, type }) => [name, type === 'Interaction' ? 'interactions.Interaction' : type]),
    ...Object.entries(ownEvents),
  ];
  const overloads = listened.map(
    ([name = '', type]) =>
      `    @overload\n    def event(self, name: Literal["${toEventName(name)}"]) -> Callable[[Listener[${type}]], Listener[${type}]]: ...\n`,
  );
  return () => `from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypeVar, overload

from .. import interactions
from ..lifecycle import Disconnected, EventsMissed, Ready, Resumed, Session
from .models import ${used.join(', ')}

T = TypeVar("T")
Listener: TypeAlias = Callable[[T], Awaitable[object]]

PAYLOADS: dict[str, Any] = {
${named.map(({ name, type }) => `    "${name}": ${type},\n`).join('')}    "READY": Ready,
    "RESUMED": Resumed,
}
"""The class of each event's payload, by the name of the event in the protocol."""

EventName: TypeAlias = Literal[${named
    .filter(({ optIn }) => optIn)
    .map(({ name }) => `"${toEventName(name)}"`)
    .join(', ')}]
"""The events that a bot has to ask for."""

ON_REQUEST = frozenset({${named
    .filter(({ optIn }) => optIn)
    .map(({ name }) => `"${name}"`)
    .join(', ')}})

NAMES = frozenset({*PAYLOADS, ${Object.keys(ownEvents)
    .filter((name) => name !== 'READY' && name !== 'RESUMED')
    .map((name) => `"${name}"`)
    .join(', ')}})
"""The events that can have listeners."""


class Listeners:
    """The decorator for listeners, with the payload of each event."""

${overloads.join('\n')}
    def event(self, name: str) -> Any:
        """
        Makes a function the listener of an event, by its name in lower case: \`\`@bot.event("message_create")\`\`. Listeners of one channel run one after another,
        in the order of the events; those of different channels run at the same time.
        """
        return self._listen(name.upper())

    def _listen(self, name: str) -> Callable[[Listener[Any]], Listener[Any]]:
        raise NotImplementedError
`;
}

const writePermissions = (bits: Record<string, number>): string => `from __future__ import annotations

from enum import IntFlag


class Permissions(IntFlag):
    """Permission bits. Combine them with \`\`|\`\`."""

${Object.entries(bits)
  .map(([name, bit]) => `    ${name.toUpperCase().replaceAll(' ', '_')} = 1 << ${Math.log2(bit)}\n`)
  .join('')}`;

/** The source of each generated module of the Python kit, by its file name. */
export function writePython({ operations, schemas, events, permissionBits }: Contract): Map<string, string> {
  const types = new PythonTypes(schemas);
  const writers = [writeOperations(types, operations), writeEvents(types, events)]; // they add the classes of inline objects
  const models = `from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from .permissions import Permissions


${types.write()}`;
  const [operationsSource = '', eventsSource = ''] = writers.map((write) => write());
  const modules = {
    'permissions.py': ['The permission bits.', writePermissions(permissionBits)],
    'models.py': ['The objects of the API and the payloads of events.', models],
    'operations.py': ['One method for each operation of the API.', operationsSource],
    'events.py': ['The events of the gateway.', eventsSource],
  };
  return new Map([
    ['__init__.py', '"""Modules that `npm run kits` generates from the API."""\n'],
    ...Object.entries(modules).map(([file, [about = '', source = '']]): [string, string] => [
      file,
      `"""${about} Generated by \`npm run kits\` from the API. Do not edit."""\n\n${source}`,
    ]),
  ]);
}

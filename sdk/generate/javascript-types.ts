import { type Contract, nameOfRef, type Schema } from './contract.ts';

/** A doc comment with `text`, indented by `indent`; empty if there is no text. */
export function toComment(text: string | undefined, indent = ''): string {
  if (!text) return '';
  const lines = text.replaceAll('*/', '*\\/').trim().split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

const isName = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text);
const inParens = (type: string): string => (/[|&]/.test(type) ? `(${type})` : type);
const join = (parts: string[], by: string): string => [...new Set(parts)].join(by);

function toObject({ properties = {}, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const key = isName(name) ? name : `'${name}'`;
    return `${toComment(schema.description, inner)}${inner}${key}${required.includes(name) ? '' : '?'}: ${toType(schema, inner)};\n`;
  });
  if (typeof additionalProperties === 'object') fields.push(`${inner}[name: string]: ${toType(additionalProperties, inner)};\n`);
  return fields.length > 0 ? `{\n${fields.join('')}${indent}}` : 'Record<string, unknown>';
}

function toPlainType(type: string, schema: Schema, indent: string): string {
  if (type === 'object') return toObject(schema, indent);
  if (type === 'array') return `${inParens(toType(schema.items ?? {}, indent))}[]`;
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'string' || type === 'boolean' || type === 'null' ? type : 'unknown';
}

/** The TypeScript type of a schema. The lines of an object are indented by `indent`. */
export function toType(schema: Schema, indent = ''): string {
  if (schema.$ref) return nameOfRef(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'");
  if (schema.enum)
    return join(
      schema.enum.map((one) => toType(one === null ? { type: 'null' } : { const: one })),
      ' | ',
    );
  const union = schema.oneOf ?? schema.anyOf;
  const own = schema.properties && (union || schema.allOf) ? [toObject(schema, indent)] : [];
  if (union)
    return join(
      [
        ...own,
        inParens(
          join(
            union.map((one) => toType(one, indent)),
            ' | ',
          ),
        ),
      ],
      ' & ',
    ).replace(/^\((.*)\)$/s, '$1');
  if (schema.allOf) {
    // Parts that only describe or restrict say nothing about the type.
    const parts = schema.allOf.map((one) => inParens(toType(one, indent))).filter((one) => one !== 'unknown');
    return join([...parts, ...own], ' & ') || 'unknown';
  }
  const types = schema.type === undefined ? (schema.properties ? ['object'] : []) : [schema.type].flat();
  return types.length === 0
    ? 'unknown'
    : join(
        types.map((one) => toPlainType(one, schema, indent)),
        ' | ',
      );
}

/** The source of `types.ts`: the named schemas. */
export function writeTypes({ schemas, errors }: Contract): string {
  const declarations = [...schemas].map(([name, schema]) => {
    const type = toType(schema);
    const isInterface = type.startsWith('{') && type.endsWith('}') && !schema.allOf && !schema.anyOf && !schema.oneOf;
    return `${toComment(schema.description)}export ${isInterface ? `interface ${name} ${type}` : `type ${name} = ${type};`}\n`;
  });
  const codes = errors.map(({ code }) => `  | '${code}'`).join('\n');
  const errorCode = schemas.has('ErrorCode') ? [] : [`/** The stable name of an error. */\nexport type ErrorCode =\n${codes};\n`];
  return [...declarations, ...errorCode].join('\n');
}

import { nameOfRef, type Schema } from './contract.ts';

const keywords = new Set([
  'from',
  'in',
  'is',
  'global',
  'class',
  'def',
  'import',
  'pass',
  'return',
  'None',
  'True',
  'False',
  'async',
  'await',
]);

/** The name of a field in Python: `iconUrl` is `icon_url`. Throws if `to_json_name` of the package would not turn it back. */
export function toSnake(name: string): string {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const back = snake.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (back !== name) throw new Error(`the field ${name} has no name in Python that can be turned back`);
  return keywords.has(snake) ? `${snake}_` : snake;
}

/** The name of a class: `createMessage` is `CreateMessage`. */
export const toPascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Lines of at most 120 characters. */
function wrap(text: string): string[] {
  const lines: string[] = [];
  for (const paragraph of text.trim().split('\n')) {
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line && line.length + 1 + word.length > 120) {
        lines.push(line);
        line = '';
      }
      line = line ? `${line} ${word}` : word;
    }
    lines.push(line);
  }
  return lines;
}

/** A docstring with `text`, indented by `indent`; empty if there is no text. */
export function toDocstring(text: string | undefined, indent: string): string {
  if (!text) return '';
  const lines = wrap(text.replaceAll('\\', '\\\\').replaceAll('"""', "'''"));
  if (lines.length === 1 && !lines[0]?.endsWith('"')) return `${indent}"""${lines[0]}"""\n`;
  return `${indent}"""\n${lines.map((line) => `${indent}${line}`.trimEnd()).join('\n')}\n${indent}"""\n`;
}

const isObject = (schema: Schema): boolean => schema.properties !== undefined;
const isNull = (schema: Schema): boolean => schema.type === 'null' || schema.const === null;

/** Writes Python types for schemas. Objects become classes, inline ones too. */
export class PythonTypes {
  readonly #schemas: ReadonlyMap<string, Schema>;
  /** The source of each class by its name, in the order in which they were needed. */
  readonly #classes = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  /** The class of each object by its schema as text, so that equal inline objects share one class. */
  readonly #classNames = new Map<string, string>();

  constructor(schemas: ReadonlyMap<string, Schema>) {
    this.#schemas = schemas;
    for (const [name, schema] of schemas) {
      if (name === 'Permissions') continue; // the flags of the package
      const merged = this.mergeParts(schema);
      if (isObject(merged)) this.#writeClass(name, merged);
      else this.#aliases.set(name, this.toType(merged, name));
    }
  }

  /** The names that the module defines. */
  get names(): string[] {
    return [...this.#classes.keys(), ...this.#aliases.keys()].sort();
  }

  /** The schema that a reference names, with the parts of `allOf` merged into one. */
  mergeParts(schema: Schema): Schema {
    if (schema.$ref) {
      const named = this.#schemas.get(nameOfRef(schema.$ref));
      return named ? this.mergeParts(named) : {};
    }
    if (!schema.allOf) return schema;
    const { allOf, ...own } = schema;
    if (allOf.length === 1 && !own.properties && allOf[0]?.$ref)
      return { ...allOf[0], ...(own.description && { description: own.description }) };
    const parts = [...allOf.map((one) => this.mergeParts(one)), own];
    const properties = Object.assign({}, ...parts.map((one) => one.properties ?? {})) as Record<string, Schema>;
    const required = [...new Set(parts.flatMap((one) => one.required ?? []))];
    return Object.assign({}, ...parts, Object.keys(properties).length > 0 ? { properties, required } : {}) as Schema;
  }

  /** The fields of a body: of a union, those of all its members, of which only the ones that all of them need are required. */
  toFields(schema: Schema): { properties: Record<string, Schema>; required: string[] } | null {
    const merged = this.mergeParts(schema);
    if (isObject(merged)) return { properties: merged.properties ?? {}, required: merged.required ?? [] };
    const members = (merged.oneOf ?? merged.anyOf ?? []).map((one) => this.toFields(one));
    if (members.length === 0 || members.includes(null)) return null;
    const known = members.filter((one) => one !== null);
    const properties: Record<string, Schema> = {};
    for (const member of known)
      for (const [name, field] of Object.entries(member.properties)) {
        const other = properties[name];
        properties[name] = other && JSON.stringify(other) !== JSON.stringify(field) ? { anyOf: [other, field] } : field;
      }
    return { properties, required: (known[0]?.required ?? []).filter((name) => known.every((one) => one.required.includes(name))) };
  }

  /** Whether a field may be null. */
  isNullable(schema: Schema): boolean {
    const merged = this.mergeParts(schema);
    return (
      isNull(merged) || [merged.type].flat().includes('null') || (merged.anyOf ?? merged.oneOf ?? []).some((one) => this.isNullable(one))
    );
  }

  /** The Python type of a schema. A class for an inline object is called `name`. */
  toType(schema: Schema, name: string): string {
    if (schema.$ref) {
      const named = nameOfRef(schema.$ref);
      const received = `${named}View`; // what was received can be sent back
      return this.#schemas.has(received) ? `${named} | ${received}` : named;
    }
    if (schema.allOf) {
      const merged = this.mergeParts(schema);
      return merged.allOf ? 'object' : this.toType(merged, name);
    }
    if (schema.const !== undefined) return schema.const === null ? 'None' : `Literal[${JSON.stringify(schema.const)}]`;
    if (schema.enum) return this.#joinTypes(schema.enum.map((one) => this.toType({ const: one }, name)));
    const union = schema.anyOf ?? schema.oneOf;
    if (union) return this.#joinTypes(union.map((one) => this.toType(one, name)));
    if (isObject(schema)) return this.#writeClass(name, schema);
    return this.#joinTypes([schema.type ?? 'unknown'].flat().map((type) => this.#toPlainType(type, schema, name)));
  }

  #toPlainType(type: string, schema: Schema, name: string): string {
    if (type === 'string') return schema.format === 'date-time' ? 'datetime' : 'str';
    if (type === 'integer') return 'int';
    if (type === 'number') return 'float';
    if (type === 'boolean') return 'bool';
    if (type === 'null') return 'None';
    if (type === 'array') return `Sequence[${this.toType(schema.items ?? {}, name.replace(/s$/, ''))}]`;
    if (type === 'object') {
      const { additionalProperties: values } = schema;
      return `Mapping[str, ${typeof values === 'object' ? this.toType(values, name) : 'object'}]`;
    }
    return 'object';
  }

  /** A union: fixed values are one `Literal`, None is last, and `int` beside `float` is part of it. */
  #joinTypes(types: string[]): string {
    const literals = types.flatMap((type) => /^Literal\[(.*)\]$/.exec(type)?.[1] ?? []);
    const others = types.filter((type) => !type.startsWith('Literal[') && type !== 'None');
    const isOpen = others.includes('str') && literals.every((one) => one.startsWith('"'));
    const parts = new Set([...others, ...(literals.length > 0 && !isOpen ? [`Literal[${[...new Set(literals)].join(', ')}]`] : [])]);
    if (parts.has('object')) return 'object';
    if (types.includes('None')) parts.add('None');
    return [...parts].join(' | ');
  }

  #writeClass(name: string, schema: Schema): string {
    const { properties = {}, required = [], description } = schema;
    const shape = JSON.stringify([properties, required]);
    const known = this.#classes.has(name) ? name : this.#schemas.has(name) ? undefined : this.#classNames.get(shape);
    if (known) return known;
    this.#classNames.set(shape, name);
    this.#classes.set(name, ''); // first, so that a class that contains itself ends
    const isSecret = (field: string): boolean => /^(token|signingSecret)$/.test(field) || (field === 'url' && 'token' in properties);
    const fields = Object.entries(properties).map(([field, inner]) => {
      const isRequired = required.includes(field);
      const type = this.toType(inner, name + toPascal(field));
      const optional = isRequired || /\bNone$/.test(type) ? type : `${type} | None`;
      const settings = [...(isRequired ? [] : ['default=None']), ...(isSecret(field) ? ['repr=False'] : [])];
      const value = settings.length === 0 ? '' : settings.join() === 'default=None' ? ' = None' : ` = field(${settings.join(', ')})`;
      return `    ${toSnake(field)}: ${optional}${value}\n${toDocstring(inner.description, '    ')}`;
    });
    const body = [toDocstring(description, '    '), ...fields]
      .filter(Boolean)
      .join(description ? '\n' : '')
      .replace(/\n\n {4}"""/g, '\n    """');
    this.#classes.set(name, `@dataclass(frozen=True, slots=True, kw_only=True)\nclass ${name}:\n${body || '    pass\n'}`);
    return name;
  }

  /** The source of the module with all classes and aliases. */
  write(): string {
    const written = new Set<string>();
    const aliases: string[] = [];
    const writeAlias = (name: string): void => {
      const type = this.#aliases.get(name);
      if (type === undefined || written.has(name)) return;
      written.add(name);
      for (const other of type.replace(/"[^"]*"/g, '').match(/\w+/g) ?? []) writeAlias(other); // what it refers to comes first
      aliases.push(`${name}: TypeAlias = ${type}\n${toDocstring(this.#schemas.get(name)?.description, '')}`);
    };
    for (const name of this.#aliases.keys()) writeAlias(name);
    return `${[...this.#classes.values()].join('\n\n')}\n\n${aliases.join('')}`;
  }
}

import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Schema } from './openapi.ts';
import { typeHref } from './reference-data.ts';
import { baseType, describeLimits, hasFields, listValues, type Shape, toShape } from './shape.ts';
import { Text } from './text.tsx';
import { joinWords } from './words.ts';

/** The type of a value in words, with links to named types: `array of Embed`, `string or null`. */
export function TypeName({ shape }: { shape: Shape }): JSX.Element {
  const { schema, name, isNullable, item, variants } = shape;
  const suffix = isNullable ? ' or null' : '';
  if (name !== undefined)
    return (
      <>
        <a href={typeHref(name)}>{name}</a>
        {suffix}
      </>
    );
  if (item)
    return (
      <>
        array of <TypeName shape={item} />
        {suffix}
      </>
    );
  if (variants.length > 0 && listValues(shape).length === 0)
    return (
      <>
        {variants.map((variant, index) => (
          <span key={index}>
            {index > 0 && ' or '}
            <TypeName shape={variant} />
          </span>
        ))}
        {suffix}
      </>
    );
  const type = schema.contentEncoding === 'binary' ? 'file' : baseType(schema) || baseType({ enum: listValues(shape) }) || 'any value';
  return (
    <>
      {type}
      {suffix}
    </>
  );
}

const show = (value: unknown): string => JSON.stringify(value);

/** What a value may be besides its type: limits, values, default and example. */
export function Rules({ shape }: { shape: Shape }): JSX.Element | null {
  const { schema, item } = shape;
  const limits = [
    ...describeLimits(schema),
    ...(item && item.name === undefined ? describeLimits(item.schema).map((one) => `each ${one}`) : []),
  ];
  const values = listValues(item && item.name === undefined ? item : shape);
  const example = schema.examples?.[0];
  if (limits.length + values.length === 0 && schema.default === undefined && example === undefined) return null;
  return (
    <div class="ref-rules">
      {limits.length > 0 && <p>{joinWords(limits, 'and').replace(/^./, (first) => first.toUpperCase())}.</p>}
      {values.length > 0 && (
        <p>
          {values.length === 1 ? 'Always ' : 'One of '}
          {values.map((value, index) => (
            <span key={index}>
              {index > 0 && ' '}
              <code>{show(value)}</code>
            </span>
          ))}
        </p>
      )}
      {schema.default !== undefined && (
        <p>
          Default: <code>{show(schema.default)}</code>
        </p>
      )}
      {example !== undefined && typeof example !== 'object' && (
        <p>
          Example: <code>{show(example)}</code>
        </p>
      )}
    </div>
  );
}

/** Whether a field must be there: said of what a caller sends if it must, and of what the platform sends if it may be absent. */
function Presence({ isRequired, isInput }: { isRequired: boolean; isInput: boolean }): JSX.Element | null {
  if (isInput) return isRequired ? <span class="ref-required"> required</span> : null;
  return isRequired ? null : <span class="soft"> · may be absent</span>;
}

/**
 * A field of an object or a parameter. Fields of an object within it are shown after a click. `isInput`: a caller sends it. Without `isRequired` nothing is said
 * about whether it must be there.
 */
export function Field({
  name,
  schema,
  isRequired,
  isInput = false,
}: {
  name: string;
  schema: Schema;
  isRequired?: boolean;
  isInput?: boolean;
}): JSX.Element {
  const isOpen = useSignal(false);
  const id = useId();
  const shape = toShape(schema);
  return (
    <li class="ref-field">
      <p class="ref-field-head">
        <code class="ref-field-name">{name}</code>{' '}
        <span class="soft">
          <TypeName shape={shape} />
        </span>
        {isRequired !== undefined && <Presence isRequired={isRequired} isInput={isInput} />}
        {shape.schema.deprecated && <span class="ref-deprecated"> deprecated</span>}
      </p>
      {shape.schema.description && <Text text={shape.schema.description} />}
      <Rules shape={shape} />
      {hasFields(shape) && (
        <>
          <button
            type="button"
            class="ref-toggle"
            aria-expanded={isOpen.value}
            aria-controls={id}
            onClick={() => (isOpen.value = !isOpen.value)}
          >
            {isOpen.value ? '− Hide fields' : '+ Show fields'}
            <span class="visually-hidden"> of {name}</span>
          </button>
          <div id={id}>{isOpen.value && <SchemaView shape={shape} isInput={isInput} />}</div>
        </>
      )}
    </li>
  );
}

/** The name of an alternative: its title, its type, or the value of the field that tells the alternatives apart. */
function variantName({ name, schema }: Shape, tag: string | undefined, index: number): string {
  const value = tag === undefined ? undefined : schema.properties?.[tag];
  const fixed = value && listValues(toShape(value));
  if (tag !== undefined && fixed && fixed.length > 0) return `${tag}: ${fixed.map(show).join(' or ')}`;
  return schema.title ?? name ?? `Alternative ${index + 1}`;
}

/** The fields of an object, of the items of an array, or of each alternative of a union. `isInput`: a caller sends them. */
export function SchemaView({ shape, isInput = false }: { shape: Shape; isInput?: boolean }): JSX.Element | null {
  const { schema, item, variants } = shape;
  if (item) return <SchemaView shape={item} isInput={isInput} />;
  if (variants.some(hasFields))
    return (
      <ul class="ref-fields">
        {variants.map((variant, index) => (
          <Variant
            key={index}
            shape={variant}
            name={variantName(variant, schema.discriminator?.propertyName, index)}
            isFirst={index === 0}
            isInput={isInput}
          />
        ))}
      </ul>
    );
  const extra = schema.additionalProperties;
  if (!schema.properties && typeof extra !== 'object') return <Rules shape={shape} />;
  return (
    <ul class="ref-fields">
      {Object.entries(schema.properties ?? {}).map(([name, inner]) => (
        <Field key={name} name={name} schema={inner} isRequired={schema.required?.includes(name) ?? false} isInput={isInput} />
      ))}
      {typeof extra === 'object' && <Field name="any name" schema={extra} isInput={isInput} />}
    </ul>
  );
}

function Variant({ shape, name, isFirst, isInput }: { shape: Shape; name: string; isFirst: boolean; isInput: boolean }): JSX.Element {
  const isOpen = useSignal(isFirst);
  const id = useId();
  return (
    <li class="ref-field">
      <button
        type="button"
        class="ref-toggle"
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {isOpen.value ? '−' : '+'} {name}
      </button>
      <div id={id}>
        {isOpen.value && (
          <>
            {shape.schema.description && <Text text={shape.schema.description} />}
            <SchemaView shape={shape} isInput={isInput} />
          </>
        )}
      </div>
    </li>
  );
}

import type { JSX } from 'preact';
import { Article } from '../article.tsx';
import { Code } from '../code.tsx';
import { Disclosure } from '../disclosure.tsx';
import { exampleOf } from '../example.ts';
import type { Schema } from '../openapi.ts';
import { reference } from '../reference-data.ts';
import { SchemaView, TypeName } from '../schema-view.tsx';
import { hasFields, toShape } from '../shape.ts';
import { Text } from '../text.tsx';

function TypeSection({ name, schema }: { name: string; schema: Schema }): JSX.Element {
  const shape = toShape(schema);
  return (
    <>
      {shape.schema.description && <Text text={shape.schema.description} />}
      {!hasFields(shape) && (
        <p class="soft">
          <TypeName shape={shape} />
        </p>
      )}
      <SchemaView shape={shape} />
      {hasFields(shape) && (
        <Disclosure title="Example">
          {() => <Code code={JSON.stringify(exampleOf(schema, { isFull: true }), null, 2)} what={`an example of ${name}`} />}
        </Disclosure>
      )}
    </>
  );
}

/** Every named type of the API and the gateway. */
export function TypesPage(): JSX.Element {
  const sections = [...(reference.value?.types ?? [])].map(([name, schema]) => ({
    id: name,
    title: name,
    text: '',
    render: () => <TypeSection name={name} schema={schema} />,
  }));
  return (
    <Article
      title="Types"
      summary="The objects that operations and events share. Ignore fields that you do not know."
      sections={sections}
    />
  );
}

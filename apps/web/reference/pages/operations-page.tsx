import type { JSX } from 'preact';
import { Heading, Page } from '../article.tsx';
import type { Operation, OperationGroup } from '../reference-data.ts';
import { Text } from '../text.tsx';

function OperationSection({ operation }: { operation: Operation }): JSX.Element {
  const { id, title, method, path, object } = operation;
  return (
    <section id={id} class="ref-section">
      <Heading anchor={id}>{title}</Heading>
      <p class="ref-endpoint">
        <code>
          <strong>{method}</strong> {path}
        </code>
      </p>
      <Text text={object.summary} />
    </section>
  );
}

/** The page of the operations with one tag. */
export function OperationsPage({ group: { title, description, operations } }: { group: OperationGroup }): JSX.Element {
  return (
    <Page title={title} wide>
      <Text text={description} />
      {operations.map((operation) => (
        <OperationSection key={operation.id} operation={operation} />
      ))}
    </Page>
  );
}

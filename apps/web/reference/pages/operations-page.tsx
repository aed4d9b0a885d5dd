import type { JSX } from 'preact';
import { Page } from '../article.tsx';
import { OperationView } from '../operation-view.tsx';
import type { OperationGroup } from '../reference-data.ts';
import { Text } from '../text.tsx';

/** The page of the operations with one tag. */
export function OperationsPage({ group: { title, description, operations } }: { group: OperationGroup }): JSX.Element {
  return (
    <Page title={title} wide>
      <Text text={description} class="ref-lead" />
      {operations.map((operation) => (
        <OperationView key={operation.id} operation={operation} />
      ))}
    </Page>
  );
}

import type { JSX } from 'preact';
import { Heading, Page } from '../article.tsx';
import { Code } from '../code.tsx';
import { allErrors, type KnownError, listOperationsWith, messageOf } from '../error-list.ts';
import { operationHref } from '../reference-data.ts';
import { Line } from '../text.tsx';

/** More operations than these are not named, because almost all have the code. */
const maxNamed = 12;

const example = {
  code: 'missing_permission',
  message: 'Missing permission: Manage Messages.',
  requestId: 'b4c1d7',
  missing: ['Manage Messages'],
};

function ErrorSection({ error: { code, cause } }: { error: KnownError }): JSX.Element {
  const operations = listOperationsWith(code);
  const message = messageOf(code);
  return (
    <div id={code} class="ref-part">
      <Heading anchor={code} level={3}>
        <code>{code}</code>
      </Heading>
      <p>
        <Line text={cause} />
      </p>
      {message && (
        <p class="soft">
          Message: <Line text={message} />
        </p>
      )}
      {operations.length > 0 && operations.length <= maxNamed && (
        <p class="soft">
          Returned by{' '}
          {operations.map((operation, index) => (
            <span key={operation.id}>
              {index > 0 && ', '}
              <a href={operationHref(operation)}>{operation.id}</a>
            </span>
          ))}
          .
        </p>
      )}
    </div>
  );
}

/** Every error code by status with its cause. */
export function ErrorsPage(): JSX.Element {
  const statuses = [...new Set(allErrors.map(({ status }) => status))];
  return (
    <Page title="Errors">
      <p class="ref-lead">
        A refused request has a status of 400 or higher and this body. Tell errors apart by <code>code</code>; the message is for people and
        may change.
      </p>
      <Code code={JSON.stringify(example, null, 2)} what="an error" head={<span>403</span>} />
      {statuses.map((status) => (
        <section key={status} id={`status-${status}`} class="ref-section">
          <Heading anchor={`status-${status}`}>{status}</Heading>
          {allErrors
            .filter((error) => error.status === status)
            .map((error) => (
              <ErrorSection key={error.code} error={error} />
            ))}
        </section>
      ))}
    </Page>
  );
}

import type { JSX } from 'preact';
import { Page } from '../article.tsx';
import { reference } from '../reference-data.ts';
import { Text } from '../text.tsx';

/** The first page of the reference: what there is and how a request looks. */
export function OverviewPage(): JSX.Element {
  const groups = reference.value?.groups ?? [];
  return (
    <Page title="API reference">
      <p class="ref-lead">
        Everything that a bot can do and receive. Each operation has code to copy and a form that sends it with your bot’s token.
      </p>
      <ul class="ref-cards">
        {groups.map(({ name, title, description, operations }) => (
          <li key={name}>
            <a href={`/developers/reference/${name}`}>
              <strong>{title}</strong>
              <Text text={description} />
              <span class="hint">{operations.length} operations</span>
            </a>
          </li>
        ))}
      </ul>
    </Page>
  );
}

import type { JSX } from 'preact';
import { Heading, Page } from '../article.tsx';
import { Code } from '../code.tsx';
import { reference } from '../reference-data.ts';
import { Text } from '../text.tsx';

/** The first page of the reference: how a request looks, and what there is. */
export function OverviewPage(): JSX.Element {
  const groups = reference.value?.groups ?? [];
  const exampleRequest = `curl "${location.origin}/api/auth/me" \\\n  -H "Authorization: Bot $PARLANCE_TOKEN"`;
  return (
    <Page title="API reference">
      <p class="ref-lead">
        Everything that a bot can do and receive. Each operation has code to copy and a form that sends it with your bot’s token.
      </p>
      <section id="requests" class="ref-section">
        <Heading anchor="requests">Requests</Heading>
        <p>
          Requests and answers are JSON. A bot sends its token in <code>Authorization: Bot</code>. Create it under{' '}
          <a href="/developers">My applications</a>, and keep it out of your code.
        </p>
        <Code code={exampleRequest} what="a first request" head={<span>curl</span>} />
        <ul class="ref-list">
          <li>
            An answer with a status of 400 or higher has an <a href="/developers/reference/errors">error code</a>.
          </li>
          <li>
            After 429, wait as many seconds as <code>Retry-After</code> says. The headers <code>X-RateLimit-…</code> say how many requests
            are left.
          </li>
          <li>
            With the header <code>Idempotency-Key</code>, a request that creates something can be repeated, and nothing is created twice.
          </li>
          <li>
            The documents behind these pages: <a href="/api/openapi.json">OpenAPI</a> and <a href="/api/asyncapi.json">AsyncAPI</a>.
          </li>
        </ul>
      </section>
      <section id="pages" class="ref-section">
        <Heading anchor="pages">Pages</Heading>
        <p>
          A long list is read in pages. <code>limit</code> is the size of a page, <code>before</code> and <code>after</code> are the id of
          its last entry, which is not repeated on the next page. The header <code>X-Has-More</code> is <code>true</code> while there is
          more, and <code>Link</code> has the address of the next page with <code>rel="next"</code>. Each operation names what it takes;
          those that answer <code>items</code> say <code>hasMore</code> beside them.
        </p>
      </section>
      <section id="operations" class="ref-section">
        <Heading anchor="operations">Operations</Heading>
        <ul class="ref-cards">
          {groups.map(({ name, title, description, operations }) => (
            <li key={name}>
              <a href={`/developers/reference/${name}`}>
                <strong>{title}</strong>
                <Text text={description} />
                <span class="hint">{operations.length === 1 ? '1 operation' : `${operations.length} operations`}</span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </Page>
  );
}

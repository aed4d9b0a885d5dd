import type { JSX } from 'preact';
import { Heading, Page } from '../article.tsx';
import { limitGroups } from '../limit-texts.ts';
import { Text } from '../text.tsx';

/** The limits of what programs send and create, by topic. */
export function LimitsPage(): JSX.Element {
  return (
    <Page title="Limits">
      <p class="ref-lead">All limits hold for simultaneous requests, on all nodes together. Texts are counted in Unicode code points.</p>
      {limitGroups.map(({ id, title, note, rows }) => (
        <section key={id} id={id} class="ref-section">
          <Heading anchor={id}>{title}</Heading>
          {note && <Text text={note} />}
          <div class="ref-scroll" tabIndex={0} role="region" aria-label={title}>
            <table class="ref-table">
              <tbody>
                {rows.map(([what, value]) => (
                  <tr key={what}>
                    <th scope="row">{what}</th>
                    <td>{value}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
    </Page>
  );
}

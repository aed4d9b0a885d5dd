import type { JSX } from 'preact';
import { Heading, Page } from '../article.tsx';
import { limitGroups } from '../limit-texts.ts';

/** The limits of what programs send and create, by topic. */
export function LimitsPage(): JSX.Element {
  return (
    <Page title="Limits">
      <p class="ref-lead">All limits hold for simultaneous requests, on all nodes together. Texts are counted in Unicode code points.</p>
      {limitGroups.map(({ id, title, rows }) => (
        <section key={id} id={id} class="ref-section">
          <Heading anchor={id}>{title}</Heading>
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
        </section>
      ))}
    </Page>
  );
}

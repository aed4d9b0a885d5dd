import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { guides } from '../guides/guides.ts';
import { place } from './location.ts';
import { referencePages } from './pages.ts';
import { type OperationGroup, operationHref, reference } from './reference-data.ts';

function PageLink({ href, children }: { href: string; children: string }): JSX.Element {
  return (
    <a href={href} aria-current={place.value.path === href ? 'page' : undefined}>
      {children}
    </a>
  );
}

/** The link to a page of operations; on that page also the links to its operations. */
function GroupLinks({ group }: { group: OperationGroup }): JSX.Element {
  const href = `/developers/reference/${group.name}`;
  const { path, anchor } = place.value;
  return (
    <li>
      <PageLink href={href}>{group.title}</PageLink>
      {path === href && (
        <ul class="ref-nav-inner">
          {group.operations.map((operation) => (
            <li key={operation.id}>
              <a href={operationHref(operation)} aria-current={anchor === operation.id ? 'location' : undefined}>
                {operation.title}
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** The navigation: the guides and the pages of the reference. */
export function Navigation(): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const { path } = place.value;
  useEffect(() => {
    ref.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: 'nearest' });
  }, [path, reference.value]);
  return (
    <div ref={ref}>
      <ul class="ref-narrow">
        <li>
          <a href="/developers">My applications</a>
        </li>
      </ul>
      <h2>Guides</h2>
      <ul>
        <li>
          <PageLink href="/developers/guides">All guides</PageLink>
        </li>
        {guides.map(({ name, title }) => (
          <li key={name}>
            <PageLink href={`/developers/guides/${name}`}>{title}</PageLink>
          </li>
        ))}
      </ul>
      <h2>Reference</h2>
      <ul>
        {referencePages.map(({ name, title }) => (
          <li key={name}>
            <PageLink href={`/developers/reference${name && `/${name}`}`}>{title}</PageLink>
          </li>
        ))}
      </ul>
      <h2>Operations</h2>
      <ul>
        {reference.value?.groups.map((group) => (
          <GroupLinks key={group.name} group={group} />
        ))}
      </ul>
    </div>
  );
}

import type { ComponentChildren, JSX } from 'preact';
import { useRoute } from 'preact-iso';
import type { Application } from '../../../lib/contract/application.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { applicationOf, freshTokens, hideToken } from './applications.ts';
import { isUnsaved } from './commands/drafts.ts';
import { CopyField } from './copy.tsx';
import { usePage } from './page.ts';

const pages = [
  { path: '', name: 'General Information' },
  { path: '/bot', name: 'Bot' },
  { path: '/commands', name: 'Commands' },
  { path: '/install', name: 'Install' },
  { path: '/directory', name: 'Directory' },
  { path: '/first-bot', name: 'First bot' },
] as const;

/** Returns the path of an application's page. `page` is for example `/bot`, or empty for the first page. */
export const pagePath = (id: string, page: (typeof pages)[number]['path']): string => `/developers/${id}${page}`;

/** The bot's token after its creation, which is the only time it is shown. */
function FreshToken({ application: { id } }: { application: Application }): JSX.Element | null {
  const token = freshTokens.value.get(id);
  if (token === undefined) return null;
  return (
    <section class="portal-card fresh-token" aria-label="Bot token">
      <CopyField label="Bot token" value={token} what="the bot token">
        <Button variant="quiet" onClick={() => hideToken(id)}>
          I saved it
        </Button>
      </CopyField>
      <p class="hint">
        The token is shown only once. Copy it before you leave or reload this page. Anyone who has it can act as your bot, so keep it out of
        your code.
      </p>
    </section>
  );
}

/**
 * The layout of an application's page: navigation, fresh token, heading, and the content that `children` returns. If the user has no such application, a
 * message is shown instead.
 */
export function Frame({
  page,
  title,
  children,
}: {
  page: (typeof pages)[number]['path'];
  title: string;
  children: (application: Application) => ComponentChildren;
}): JSX.Element {
  const { id = '' } = useRoute().params;
  const application = applicationOf(id);
  usePage(application ? `${title} · ${application.name}` : 'Application not found');
  if (!application)
    return (
      <main class="portal-main" id="page">
        <h1>Application not found</h1>
        <p>
          You don’t have an application with this ID. <a href="/developers">My applications</a>
        </p>
      </main>
    );
  return (
    <div class="portal-frame" key={id}>
      <nav class="portal-nav" aria-label={`Pages of ${application.name}`}>
        <p class="portal-application">
          <Avatar id={id} name={application.name} url={application.iconUrl} size={36} square />
          <strong>{application.name}</strong>
        </p>
        <ul>
          {pages.map(({ path, name }) => (
            <li key={path}>
              <a href={pagePath(id, path)} aria-current={path === page ? 'page' : undefined}>
                {name}
                {path === '/commands' && isUnsaved(id) && <span class="portal-unsaved"> (unsaved)</span>}
              </a>
            </li>
          ))}
        </ul>
        <a href="/developers">All applications</a>
      </nav>
      <main class="portal-main" id="page">
        <h1>{title}</h1>
        <FreshToken application={application} />
        {children(application)}
      </main>
    </div>
  );
}

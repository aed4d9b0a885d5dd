import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import type { Server } from '../../../lib/contract/server.ts';
import { path } from '../api/call.ts';
import { details, loadServer, putServer, servers } from '../state/servers.ts';
import { me } from '../state/session.ts';
import { Button } from '../ui/button.tsx';
import { TextField, useTask } from '../ui/form.tsx';
import { NewServerForm } from '../ui/new-server-form.tsx';
import { Problem } from '../ui/problem.tsx';
import { NotFound, PageHeader } from './page.tsx';
import { openingChannelOf } from './place.ts';

/** Creates a server and opens it. */
export function NewServer({ onMade }: { onMade?: () => void }): JSX.Element {
  const { route } = useLocation();
  const open = (server: Server): void => {
    putServer(server);
    onMade?.();
    route(`/servers/${server.id}`);
  };
  return <NewServerForm onMade={open} />;
}

/** Opens an invite, given as a link or as its code. */
export function JoinForm({ onDone }: { onDone?: () => void }): JSX.Element {
  const given = useSignal('');
  const { route } = useLocation();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const code = given.value.trim().replace(/^.*\/invite\//, '');
    if (code === '') return;
    onDone?.();
    route(path`/invite/${code}`);
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="Invite link"
        placeholder="https://…/invite/…"
        required
        value={given.value}
        onValue={(value) => (given.value = value)}
      />
      <Button type="submit">Continue</Button>
    </form>
  );
}

/** The start page: it offers to create a server, to use an invite, and to browse Discovery. */
export function HomePage(): JSX.Element {
  const first = servers.value.size === 0;
  return (
    <main id="main" class="scroll">
      <PageHeader>
        <h1>Hello, {me.value?.displayName}</h1>
      </PageHeader>
      <div class="home">
        <p>
          {first
            ? 'You have not joined a server yet. Create one, accept an invite, or browse Discovery.'
            : 'Choose a server or conversation from the sidebar.'}
        </p>
        <section>
          <h2>Create a server</h2>
          <NewServer />
        </section>
        <section>
          <h2>Join with an invite</h2>
          <JoinForm />
        </section>
        <section>
          <h2>Explore</h2>
          <p>
            <a href="/discovery">Discovery</a> lists servers that anyone can join, and <a href="/apps">the App Directory</a> lists bots to
            add to your servers.
          </p>
        </section>
      </div>
    </main>
  );
}

/** The page of a server without a channel in the path: it opens a channel, or says that the user can see none. */
export function ServerPage(): JSX.Element {
  const { serverId = '' } = useRoute().params;
  const { route } = useLocation();
  const task = useTask();
  const server = details.value.get(serverId);
  const first = server && openingChannelOf(serverId);
  useEffect(() => {
    if (first) route(`/servers/${serverId}/${first}`, true);
    else if (!server && servers.value.has(serverId)) void task.run(() => loadServer(serverId));
  }, [serverId, first]);
  if (!servers.value.has(serverId)) return <NotFound />;
  return (
    <main id="main">
      <PageHeader>
        <h1>{servers.value.get(serverId)?.name}</h1>
      </PageHeader>
      <Problem error={task.error} />
      {server && !first && <p class="home">There is no channel here that you can see.</p>}
    </main>
  );
}

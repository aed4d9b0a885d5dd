import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import type { Server } from '../../../lib/contract/server.ts';
import { path } from '../api/call.ts';
import { putServer, servers } from '../state/servers.ts';
import { me } from '../state/session.ts';
import { Form, TextField, useForm } from '../ui/form.tsx';
import { NewServerForm } from '../ui/new-server-form.tsx';
import { askToLeave } from '../ui/unsaved.tsx';
import { openingChannelOf } from './channel-context.ts';
import { NotFound, PageHeader } from './page.tsx';

/** Creates a server and opens it. */
export function NewServer({ onCreated }: { onCreated?: () => void }): JSX.Element {
  const { route } = useLocation();
  const open = (server: Server): void => {
    putServer(server);
    onCreated?.();
    askToLeave(() => route(`/servers/${server.id}`));
  };
  return <NewServerForm onCreated={open} />;
}

/** Opens an invite, given as a link or as its code. */
export function JoinForm({ onDone }: { onDone?: () => void }): JSX.Element {
  const form = useForm({ invite: '' });
  const { route } = useLocation();
  const open = async (): Promise<void> => {
    const code = form.now.invite.trim().replace(/^.*\/invite\//, '');
    if (code === '') return;
    onDone?.();
    askToLeave(() => route(path`/invite/${code}`));
  };
  return (
    <Form form={form} run={open} action="Continue" variant="plain" stacked>
      <TextField label="Invite link" placeholder="https://…/invite/…" required {...form.bind('invite')} />
    </Form>
  );
}

/** The start page: it offers to create a server, to use an invite, and to browse Discovery. */
export function HomePage(): JSX.Element {
  const hasNoServers = servers.value.size === 0;
  return (
    <main id="main" class="scroll">
      <PageHeader>
        <h1>Hello, {me.value?.displayName}</h1>
      </PageHeader>
      <div class="home">
        <p>
          {hasNoServers
            ? 'You haven’t joined any servers yet. Create one, join with an invite, or browse Discovery.'
            : 'Choose a server or conversation in the sidebar.'}
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
            Find servers that anyone can join in <a href="/discovery">Discovery</a>, and bots for your servers in the{' '}
            <a href="/apps">App Directory</a>. <a href="/developers">Build a bot</a> of your own.
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
  const server = servers.value.get(serverId);
  const firstChannelId = server && openingChannelOf(serverId);
  useEffect(() => {
    if (firstChannelId) route(`/servers/${serverId}/${firstChannelId}`, true);
  }, [serverId, firstChannelId]);
  if (!server) return <NotFound />;
  return (
    <main id="main">
      <PageHeader>
        <h1>{server.name}</h1>
      </PageHeader>
      {!firstChannelId && <p class="home">This server has no channels that you can access.</p>}
    </main>
  );
}

import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { everyoneDefault, hasPermission, permissionBits } from '../../../lib/base/permissions.ts';
import type { Application, BotAuthorization } from '../../../lib/contract/application.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { call, path } from '../api/call.ts';
import { may, myRights } from '../state/rights.ts';
import { putServer, servers } from '../state/servers.ts';
import { myId } from '../state/session.ts';
import { loadSync } from '../state/sync.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { CheckField, SelectField, useTask } from '../ui/form.tsx';
import { Loading } from '../ui/loading.tsx';
import { NewServerForm } from '../ui/new-server-form.tsx';
import { allPermissionNames, permissionTexts } from '../ui/permission-texts.ts';
import { useLoaded } from '../ui/use-loaded.ts';
import { type BotServer, findBot } from './applications.ts';
import { Frame, pagePath } from './frame.tsx';

/** A form that creates a server to test a bot, for users who manage none. */
const CreateServer = (): JSX.Element => (
  <div class="portal-card">
    <p>You don’t manage a server yet. Create one to try the bot:</p>
    <NewServerForm name="My test server" onCreated={putServer} />
  </div>
);

/** The permissions that the user can grant in the server, each with what it lets the bot do. */
function Permissions({ serverId, value, onValue }: { serverId: string; value: number; onValue: (value: number) => void }): JSX.Element {
  const offered = allPermissionNames.filter((name) => hasPermission(myRights(serverId), name));
  return (
    <fieldset class="install-permissions">
      <legend>Permissions</legend>
      <p class="hint">
        The bot gets a role with these permissions. You can grant only permissions that you have. You can change them later in the server’s
        settings.
      </p>
      {offered.map((name) => (
        <CheckField
          key={name}
          label={name}
          hint={permissionTexts[name]}
          checked={hasPermission(value, name)}
          onChecked={(checked) => onValue(checked ? value | permissionBits[name] : value & ~permissionBits[name])}
        />
      ))}
    </fieldset>
  );
}

/** Shows that the bot is in the server, and what to do next. */
function Installed({ application, server }: { application: Application; server: { id: string; name: string } }): JSX.Element {
  return (
    <div class="portal-card" role="status">
      <p>
        <strong>
          {application.name} is in {server.name}.
        </strong>
      </p>
      <div class="portal-links">
        <a class="button main" href={pagePath(application.id, '/first-bot')}>
          Run your first bot
        </a>
        <a class="button" href={`/servers/${server.id}`}>
          Open {server.name}
        </a>
      </div>
    </div>
  );
}

function Install({ application }: { application: Application }): JSX.Element {
  const { id } = application;
  const chosen = useSignal('');
  const permissions = useSignal<number>(everyoneDefault);
  const task = useTask();
  const found = useLoaded<readonly BotServer[]>(async () => (await Promise.all([findBot(application), loadSync()]))[0].servers, []);
  if (!found.value) return <Loading of={found} />;
  const botServers = found.value;

  const managed = [...servers.value.values()].filter((one) => may('Manage Server', one.id));
  const isOwnersOnly = ({ types, ownerId }: Server): boolean => types.includes('developer') && ownerId !== myId();
  const available = managed.filter((server) => !isOwnersOnly(server));
  const hasBot = (serverId: string): boolean => botServers.some((one) => one.id === serverId);
  const server = available.find((one) => one.id === chosen.value) ?? available.find((one) => !hasBot(one.id)) ?? available[0];
  const isIn = botServers.find((one) => one.id === server?.id);
  const authorize = (): void => {
    if (!server) return;
    chosen.value = server.id;
    void task.run(async () => {
      await call<BotAuthorization>('POST', path`/api/applications/${id}/authorize`, {
        serverId: server.id,
        permissions: permissions.value & myRights(server.id),
      });
      found.set([...botServers, { id: server.id, name: server.name, iconUrl: server.iconUrl }]);
    });
  };
  return (
    <>
      {server ? (
        <SelectField
          label="Server"
          hint="Servers in which you have the Manage Server permission."
          value={server.id}
          options={available.map((one) => ({
            value: one.id,
            label: hasBot(one.id) ? `${one.name} (already added)` : one.name,
          }))}
          onValue={(value) => {
            chosen.value = value;
            task.clear();
          }}
        />
      ) : (
        <CreateServer />
      )}
      {managed.some(isOwnersOnly) && (
        <p class="hint">
          Not listed:{' '}
          {managed
            .filter(isOwnersOnly)
            .map(({ name }) => name)
            .join(', ')}
          . Only the owner of a developer server can add bots to it.
        </p>
      )}
      {isIn && <Installed application={application} server={isIn} />}
      {server && !isIn && (
        <>
          <div class="actions install-actions">
            <Button variant="main" busy={task.busy} onClick={authorize}>
              Add to {server.name}
            </Button>
          </div>
          <ErrorNotice error={task.error} />
          <Permissions serverId={server.id} value={permissions.value} onValue={(value) => (permissions.value = value)} />
        </>
      )}
    </>
  );
}

/** The page that adds the bot to a server that the user manages, with the permissions that the user chooses. */
export function InstallPage(): JSX.Element {
  return (
    <Frame page="/install" title="Install">
      {(application) => (
        <>
          {!application.public && (
            <p>
              This bot is private: only you can add it. <a href={pagePath(application.id, '/bot')}>Make it public</a> to let others add it,
              too.
            </p>
          )}
          <Install application={application} />
        </>
      )}
    </Frame>
  );
}

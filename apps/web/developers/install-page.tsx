import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { everyoneDefault, holds, permissionBits } from '../../../lib/base/permissions.ts';
import type { Application, Authorized } from '../../../lib/contract/application.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { call, path } from '../api/call.ts';
import { may, myRights } from '../state/rights.ts';
import { details, putServer, servers } from '../state/servers.ts';
import { myId } from '../state/session.ts';
import { loadSync } from '../state/sync.ts';
import { Button } from '../ui/button.tsx';
import { CheckField, SelectField, useTask } from '../ui/form.tsx';
import { NewServerForm } from '../ui/new-server-form.tsx';
import { allPermissionNames, permissionTexts } from '../ui/permission-texts.ts';
import { Problem } from '../ui/problem.tsx';
import { type BotServer, findBot } from './applications.ts';
import { Frame, pagePath } from './frame.tsx';

/** A form that creates a server to test a bot, for users who manage none. */
const MakeServer = (): JSX.Element => (
  <div class="portal-card">
    <p>You don’t manage a server yet. Create one to try the bot in:</p>
    <NewServerForm name="My test server" onMade={putServer} />
  </div>
);

/** The permissions that the user can grant in the server, each with what it lets the bot do. */
function Permissions({ serverId, value, onValue }: { serverId: string; value: number; onValue: (value: number) => void }): JSX.Element {
  const offered = allPermissionNames.filter((name) => holds(myRights(serverId), name));
  return (
    <fieldset class="install-permissions">
      <legend>Permissions</legend>
      <p class="hint">
        The bot’s own role gets these permissions. You can grant only permissions you have, and change them later in the server’s settings.
      </p>
      {offered.map((name) => (
        <CheckField
          key={name}
          label={name}
          hint={permissionTexts[name]}
          checked={holds(value, name)}
          onChecked={(checked) => onValue(checked ? value | permissionBits[name] : value & ~permissionBits[name])}
        />
      ))}
    </fieldset>
  );
}

/** Says that the bot is in the server, and what to do next. */
function IsIn({ application, server }: { application: Application; server: { id: string; name: string } }): JSX.Element {
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
  const inside = useSignal<readonly BotServer[]>([]);
  const chosen = useSignal('');
  const permissions = useSignal<number>(everyoneDefault);
  const isRead = useSignal(false);
  const reading = useTask();
  const task = useTask();
  const read = (): void =>
    void reading.run(async () => {
      const [bot] = await Promise.all([findBot(application), loadSync()]);
      inside.value = bot.servers;
      isRead.value = true;
    });
  useEffect(read, []);
  if (!isRead.value) return reading.error ? <Problem error={reading.error} again={read} /> : <p class="spinner">Loading…</p>;

  const managed = [...servers.value.keys()].flatMap((key) => details.value.get(key) ?? []).filter((one) => may('Manage Server', one.id));
  const isClosed = ({ types, ownerId }: Server): boolean => types.includes('developer') && ownerId !== myId();
  const open = managed.filter((server) => !isClosed(server));
  const isInside = (serverId: string): boolean => inside.value.some((one) => one.id === serverId);
  const server = open.find((one) => one.id === chosen.value) ?? open.find((one) => !isInside(one.id)) ?? open[0];
  const isIn = inside.value.find((one) => one.id === server?.id);
  const authorize = (): void => {
    if (!server) return;
    chosen.value = server.id;
    void task.run(async () => {
      await call<Authorized>('POST', path`/api/applications/${id}/authorize`, {
        serverId: server.id,
        permissions: permissions.value & myRights(server.id),
      });
      inside.value = [...inside.value, { id: server.id, name: server.name, iconUrl: server.iconUrl }];
    });
  };
  return (
    <>
      {server ? (
        <SelectField
          label="Server"
          hint="Servers where you have Manage Server."
          value={server.id}
          options={open.map((one) => ({
            value: one.id,
            label: isInside(one.id) ? `${one.name} (it is in)` : one.name,
          }))}
          onValue={(value) => {
            chosen.value = value;
            task.clear();
          }}
        />
      ) : (
        <MakeServer />
      )}
      {managed.some(isClosed) && (
        <p class="hint">
          Not offered:{' '}
          {managed
            .filter(isClosed)
            .map(({ name }) => name)
            .join(', ')}
          . In a developer server only the owner can add bots.
        </p>
      )}
      {isIn && <IsIn application={application} server={isIn} />}
      {server && !isIn && (
        <>
          <div class="actions install-actions">
            <Button look="main" busy={task.busy} onClick={authorize}>
              Authorize in {server.name}
            </Button>
          </div>
          <Problem error={task.error} />
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

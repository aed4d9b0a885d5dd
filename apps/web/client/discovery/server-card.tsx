import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { DiscoveryServer } from '../../../../lib/contract/discovery.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path } from '../../api/call.ts';
import { putServer, servers } from '../../state/servers.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { categoryNames } from './categories.ts';
import { TypeMarks } from './type-marks.tsx';

/** A server in Discovery: its description, its numbers of members, and the button to join or open it. */
export function ServerCard({ server, onJoined }: { server: DiscoveryServer; onJoined: () => void }): JSX.Element {
  const { id, name, iconUrl, description, category, tags, memberCount, onlineCount, types } = server;
  const heading = useId();
  const task = useTask();
  const { route } = useLocation();
  // The gateway's data are newer than the list.
  const joined = servers.value.has(id);
  const join = (): void =>
    void task.run(async () => {
      const full = await call<Server>('POST', path`/api/discovery/servers/${id}/join`);
      putServer(full);
      onJoined();
      route(`/servers/${id}`);
    });
  return (
    <article class="discovery-card" aria-labelledby={heading}>
      <header>
        <Avatar id={id} name={name} url={iconUrl} size={56} square />
        <div>
          <h2 id={heading}>{name}</h2>
          <p class="card-marks">
            <TypeMarks types={types} />
            <span class="soft">{categoryNames[category]}</span>
          </p>
        </div>
      </header>
      <p class="card-text">{description}</p>
      {tags.length > 0 && (
        <ul class="card-tags" aria-label="Keywords">
          {tags.map((tag) => (
            <li key={tag}>{tag}</li>
          ))}
        </ul>
      )}
      <p class="soft">
        {countOf(memberCount, 'member')}, {onlineCount.toLocaleString()} online
      </p>
      <ErrorNotice error={task.error} />
      <p class="card-action">
        {joined ? (
          <a class="button" href={`/servers/${id}`} aria-label={`Open ${name}`}>
            Open
          </a>
        ) : (
          <Button variant="main" busy={task.busy} aria-label={`Join ${name}`} onClick={join}>
            Join
          </Button>
        )}
      </p>
    </article>
  );
}

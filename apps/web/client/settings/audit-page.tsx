import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { foldSearch } from '../../../../lib/base/text.ts';
import type { AuditEntry, Ban, AuditPage as Page } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { call, path, query } from '../../api/call.ts';
import { loadMembers, mergeUser } from '../../state/people.ts';
import { may } from '../../state/rights.ts';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { bind, TextField } from '../../ui/form.tsx';
import { Loading, MoreButton } from '../../ui/loading.tsx';
import { shortMomentOf } from '../../ui/times.ts';
import { useGet } from '../../ui/use-loaded.ts';
import { useMembers } from '../people/use-member.ts';
import { actorOf, changesOf, sentenceOf } from './audit-texts.ts';

function Entry({ entry, server }: { entry: AuditEntry; server: Server }): JSX.Element {
  const changes = changesOf(server, entry);
  return (
    <li class="audit-entry">
      <p>
        <strong>{actorOf(entry)}</strong> {sentenceOf(server, entry)}
      </p>
      <time class="hint" dateTime={entry.createdAt}>
        {shortMomentOf(entry.createdAt)}
      </time>
      {entry.reason !== null && <p>Reason: {entry.reason}</p>}
      {changes.length > 0 && (
        <ul class="audit-changes">
          {changes.map(({ field, from, to }) => (
            <li key={field}>
              {field}: {from === to ? to : `${from} → ${to}`}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** Returns the text of an entry that the filter searches. */
const textOf = (server: Server, entry: AuditEntry): string =>
  foldSearch(
    [
      actorOf(entry),
      sentenceOf(server, entry),
      entry.reason,
      entry.actorId,
      entry.targetId,
      ...changesOf(server, entry).flatMap(({ field, from, to }) => [field, from, to]),
    ].join(' '),
  );

/** The audit log of a server, newest first: who did what to whom. */
export function AuditPage({ server }: { server: Server }): JSX.Element {
  const at = path`/api/servers/${server.id}/audit-log`;
  const log = useGet<Page>(at);
  const text = useSignal('');
  useEffect(() => {
    // An account that is in neither list is shown by its id.
    loadMembers(server.id).catch(() => undefined);
    if (may('Ban Members', server.id))
      call<Ban[]>('GET', path`/api/servers/${server.id}/bans`)
        .then((bans) => bans.forEach(({ user }) => mergeUser(user)))
        .catch(() => undefined);
  }, [server.id]);
  const page = log.value;
  useMembers(server.id, [...new Set(page?.items.map(({ actorId }) => actorId))]);
  const loadMore = async (): Promise<void> => {
    const older = await call<Page>('GET', at + query({ before: page?.items.at(-1)?.id }));
    log.set({ items: [...(page?.items ?? []), ...older.items], hasMore: older.hasMore });
  };
  const filter = foldSearch(text.value.trim());
  const shown = page?.items.filter((entry) => filter === '' || textOf(server, entry).includes(filter)) ?? [];
  return (
    <>
      <div class="settings-line settings-end">
        <TextField label="Filter entries" type="search" placeholder="Name, word or ID" {...bind(text)} />
        <Button onClick={log.reload}>Refresh</Button>
      </div>
      <Loading of={log} />
      {page && (
        <p class="soft" role="status">
          {filter !== '' && `${shown.length} of `}
          {countOf(page.items.length, 'entry', 'entries')}
          {page.hasMore && ' loaded'}
        </p>
      )}
      <ol class="settings-list">
        {shown.map((entry) => (
          <Entry key={entry.id} entry={entry} server={server} />
        ))}
      </ol>
      {page?.hasMore && <MoreButton load={loadMore}>Show older entries</MoreButton>}
    </>
  );
}

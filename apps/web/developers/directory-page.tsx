import type { JSX } from 'preact';
import { limits } from '../../../lib/base/limits.ts';
import type { Application } from '../../../lib/contract/application.ts';
import type { DirectoryPage as Directory } from '../../../lib/contract/discovery.ts';
import { call, query } from '../api/call.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { countOf } from '../ui/counts.ts';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { SwitchField } from '../ui/switch-field.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { changeApplication } from './applications.ts';
import { Frame, pagePath } from './frame.tsx';

/** A preview of the application in the App Directory. The number of servers is shown only when it is listed, because only the directory returns it. */
function Preview({ application: { id, name, description, iconUrl, bot, inDirectory } }: { application: Application }): JSX.Element {
  // The number is optional, so an error is not shown.
  const count = useLoaded(
    async (signal) => {
      if (!inDirectory) return undefined;
      const at = `/api/discovery/apps${query({ q: name, limit: limits.discoveryPageMax })}`;
      const { items } = await call<Directory>('GET', at, undefined, { signal });
      return items.find((one) => one.id === id)?.serverCount;
    },
    [inDirectory],
  ).value;
  return (
    <div class="portal-card directory-preview">
      <Avatar id={id} name={name} url={iconUrl} size={56} square />
      <div>
        <p>
          <strong>{name}</strong> <span class="tag">{bot.tag === 'verified_bot' ? 'Verified bot' : 'Bot'}</span>
        </p>
        <p>{description || <span class="soft">No description yet.</span>}</p>
        {inDirectory && count !== undefined && <p class="hint">In {countOf(count, 'server')}</p>}
      </div>
    </div>
  );
}

function Listing({ application: { id, public: isPublic, inDirectory } }: { application: Application }): JSX.Element {
  const task = useTask();
  return (
    <>
      <SwitchField
        label="List in the App Directory"
        hint="Anyone can find the bot there and add it to servers they manage. Verified bots come first; bots in more servers come before others."
        checked={inDirectory}
        disabled={!isPublic}
        save={(checked) => changeApplication(id, { inDirectory: checked })}
        savedText={(checked) => (checked ? 'The bot is listed in the App Directory.' : 'The bot was removed from the App Directory.')}
      />
      {!isPublic && (
        <div class="portal-card">
          <p>Only public bots can be listed. This bot is private, so only you can add it to servers.</p>
          <ErrorNotice error={task.error} />
          <div>
            <Button busy={task.busy} onClick={() => void task.run(() => changeApplication(id, { inDirectory: true, public: true }))}>
              Make public and list
            </Button>
          </div>
        </div>
      )}
    </>
  );
}

/** Whether an application is listed in the App Directory, and how it looks there. */
export function DirectoryPage(): JSX.Element {
  return (
    <Frame page="/directory" title="App Directory">
      {(application) => (
        <>
          <section class="portal-section" aria-label="Listing">
            <Listing application={application} />
          </section>
          <section class="portal-section" aria-labelledby="preview">
            <h2 id="preview">Preview</h2>
            <Preview application={application} />
            <p class="hint">
              The name, description and icon come from <a href={pagePath(application.id, '')}>General Information</a>.
            </p>
          </section>
        </>
      )}
    </Frame>
  );
}

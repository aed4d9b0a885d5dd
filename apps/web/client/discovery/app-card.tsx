import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { DirectoryApp } from '../../../../lib/contract/discovery.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { countOf } from '../../ui/counts.ts';
import { DialogButton } from '../../ui/dialog.tsx';
import { AddAppDialog } from './add-app-dialog.tsx';

/** An app in the App Directory: its description, its bot, and the button to add it. */
export function AppCard({ app }: { app: DirectoryApp }): JSX.Element {
  const { id, name, description, iconUrl, bot, serverCount } = app;
  const heading = useId();
  return (
    <article class="discovery-card" aria-labelledby={heading}>
      <header>
        <Avatar id={id} name={name} url={iconUrl} size={56} square />
        <div>
          <h2 id={heading}>{name}</h2>
          <p class="card-marks">
            <span class="soft">{bot.username}</span>
            {bot.tag === 'verified_bot' && (
              <span class="tag" title="Verified by the platform">
                Verified
              </span>
            )}
          </p>
        </div>
      </header>
      <p class="card-text">{description}</p>
      <p class="soft">In {countOf(serverCount, 'server')}</p>
      <div class="card-action">
        <DialogButton variant="main" aria-label={`Add to a server: ${name}`} dialog={(close) => <AddAppDialog app={app} onClose={close} />}>
          Add to a server
        </DialogButton>
      </div>
    </article>
  );
}

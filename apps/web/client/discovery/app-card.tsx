import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { DirectoryApp } from '../../../../lib/contract/discovery.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';

/** An app in the App Directory: its description, its bot, and the button to add it. */
export function AppCard({ app, onAdd }: { app: DirectoryApp; onAdd: () => void }): JSX.Element {
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
      <p class="card-action">
        <Button variant="main" aria-label={`Add to a server: ${name}`} onClick={onAdd}>
          Add to a server
        </Button>
      </p>
    </article>
  );
}

import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Application } from '../../../lib/contract/application.ts';
import { Avatar, statusNames } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { useTask } from '../ui/form.tsx';
import { SwitchField } from '../ui/switch-field.tsx';
import { say } from '../ui/toast.tsx';
import { changeApplication, findBot, freshTokens, resetToken } from './applications.ts';
import { CopyField } from './copy.tsx';
import { Frame, pagePath } from './frame.tsx';

function Face({ application }: { application: Application }): JSX.Element {
  const { id, name, bot } = application;
  const status = useSignal<string | null>(null);
  const task = useTask();
  useEffect(() => {
    void task.run(async () => {
      const found = await findBot(application);
      status.value = found.status && statusNames[found.status];
    });
  }, []);
  return (
    <section class="portal-section" aria-label="Preview">
      <div class="bot-face">
        <Avatar id={id} name={name} url={bot.avatarUrl} size={72} />
        <p>
          <strong>{bot.displayName}</strong> <span class="tag">{bot.tag === 'verified_bot' ? 'Verified bot' : 'Bot'}</span>
          <br />
          <span class="soft">@{bot.username}</span>
          {status.value && <span class="soft"> · {status.value} now</span>}
        </p>
      </div>
      <p class="hint">
        Its avatar is the application’s icon, and its name the application’s: both are changed under{' '}
        <a href={pagePath(id, '')}>General Information</a>.
      </p>
      <CopyField label="Bot’s user ID" value={bot.id} what="the bot’s user ID" />
    </section>
  );
}

function Token({ application: { id } }: { application: Application }): JSX.Element {
  const asking = useSignal(false);
  const isFresh = freshTokens.value.has(id);
  return (
    <section class="portal-section" aria-labelledby="token">
      <h2 id="token">Token</h2>
      <p>
        {isFresh
          ? 'The token is shown above, only once.'
          : 'The token is the bot’s password. It was shown when it was created and cannot be shown again. If you lost it, reset it to get a new one.'}
      </p>
      <div>
        <Button look="danger" onClick={() => (asking.value = true)}>
          Reset token
        </Button>
      </div>
      {asking.value && (
        <Confirm
          title="Reset token?"
          action="Reset token"
          run={() => resetToken(id).then(() => say('The new token is shown at the top of the page.'))}
          onClose={() => (asking.value = false)}
        >
          <p>
            The old token stops at once: a bot that runs with it is disconnected (close code 4004) until it is started with the new one.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Public({ application: { id, public: isPublic, inDirectory } }: { application: Application }): JSX.Element {
  const leaves = inDirectory ? ' Made private, it leaves the App Directory.' : '';
  return (
    <section class="portal-section" aria-labelledby="public">
      <h2 id="public">Who can add this bot</h2>
      <SwitchField
        label="Public bot"
        hint={`Public: anyone can add it to servers they manage. Private: only you can. It stays in the servers it is already in.${leaves}`}
        checked={isPublic}
        save={(checked) => changeApplication(id, { public: checked })}
        told={(checked) => (checked ? 'The bot is public.' : 'The bot is private.')}
      />
    </section>
  );
}

/** The bot of an application: its appearance, its token, who may add it, and when it is shown as online. */
export function BotPage(): JSX.Element {
  return (
    <Frame page="/bot" title="Bot">
      {(application) => (
        <>
          <Face application={application} />
          <Token application={application} />
          <Public application={application} />
          <section class="portal-section" aria-labelledby="presence">
            <h2 id="presence">Presence</h2>
            <p>
              The bot shows as online only while it is connected to the gateway. It chooses its status (online, idle, do not disturb,
              invisible) and a custom status by <code>PATCH /api/users/@me/presence</code>; both are kept across restarts. One that only has
              an Interactions Endpoint answers commands, but shows as offline.
            </p>
          </section>
        </>
      )}
    </Frame>
  );
}

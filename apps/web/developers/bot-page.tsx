import type { JSX } from 'preact';
import type { Application } from '../../../lib/contract/application.ts';
import { Avatar, statusNames } from '../ui/avatar.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { SwitchField } from '../ui/switch-field.tsx';
import { showToast } from '../ui/toast.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { changeApplication, findBot, freshTokens, resetToken } from './applications.ts';
import { CopyField } from './copy.tsx';
import { Frame, pagePath } from './frame.tsx';

function BotProfile({ application }: { application: Application }): JSX.Element {
  const { id, name, bot } = application;
  const status = useLoaded(() => findBot(application), []).value?.status;
  return (
    <section class="portal-section" aria-label="Preview">
      <div class="bot-profile">
        <Avatar id={id} name={name} url={bot.avatarUrl} size={72} />
        <p>
          <strong>{bot.displayName}</strong> <span class="tag">{bot.tag === 'verified_bot' ? 'Verified bot' : 'Bot'}</span>
          <br />
          <span class="soft">@{bot.username}</span>
          {status && <span class="soft"> · {statusNames[status]}</span>}
        </p>
      </div>
      <p class="hint">
        The bot uses the application’s name and icon. You can change both under <a href={pagePath(id, '')}>General Information</a>.
      </p>
      <CopyField label="Bot’s user ID" value={bot.id} what="the bot’s user ID" />
    </section>
  );
}

function Token({ application: { id } }: { application: Application }): JSX.Element {
  const isFresh = freshTokens.value.has(id);
  return (
    <section class="portal-section" aria-labelledby="token">
      <h2 id="token">Token</h2>
      <p>
        {isFresh
          ? 'The token is shown above. It is shown only once.'
          : 'The token is the bot’s password. It was shown once, when it was created. If you lost it, reset it to get a new one.'}
      </p>
      <div>
        <ConfirmButton
          variant="danger"
          question="Reset token?"
          text="The old token stops working at once. If your bot is connected with it, the bot is disconnected with close code 4004. Start it with the new token to connect it again."
          action="Reset token"
          run={() => resetToken(id).then(() => showToast('The new token is shown at the top of the page.'))}
        >
          Reset token
        </ConfirmButton>
      </div>
    </section>
  );
}

function Public({ application: { id, public: isPublic, inDirectory } }: { application: Application }): JSX.Element {
  const listedHint = inDirectory ? ' Making it private removes it from the App Directory.' : '';
  return (
    <section class="portal-section" aria-labelledby="public">
      <h2 id="public">Who can add this bot</h2>
      <SwitchField
        label="Public bot"
        hint={`Anyone can add a public bot to servers they manage. Only you can add a private bot. The bot stays in the servers it is in.${listedHint}`}
        checked={isPublic}
        save={(checked) => changeApplication(id, { public: checked })}
        savedText={(checked) => (checked ? 'The bot is public.' : 'The bot is private.')}
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
          <BotProfile application={application} />
          <Token application={application} />
          <Public application={application} />
          <section class="portal-section" aria-labelledby="presence">
            <h2 id="presence">Presence</h2>
            <p>
              The bot is shown as online only while it is connected to the gateway. It sets its status (online, idle, do not disturb or
              invisible) and a custom status with <a href="/developers/reference/account#updatePresence">Update presence</a>. Both are kept
              across restarts. A bot that uses only an Interactions Endpoint answers commands, but is shown as offline.
            </p>
          </section>
        </>
      )}
    </Frame>
  );
}

import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Application } from '../../../lib/contract/application.ts';
import type { Command } from '../../../lib/contract/command.ts';
import { call, path } from '../api/call.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { bind, useTask } from '../ui/form.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { findBot, freshTokens } from './applications.ts';
import { Frame, pagePath } from './frame.tsx';
import { javascriptEndpoint } from './samples/javascript-endpoint.ts';
import { javascriptGateway } from './samples/javascript-gateway.ts';
import { pythonEndpoint } from './samples/python-endpoint.ts';
import { pythonGateway } from './samples/python-gateway.ts';
import { commandLine, type Sample, sampleCommand } from './samples/sample.ts';

type Way = 'gateway' | 'endpoint';
type Language = 'javascript' | 'python';

const samples = {
  gateway: { javascript: javascriptGateway, python: pythonGateway },
  endpoint: { javascript: javascriptEndpoint, python: pythonEndpoint },
};

/** A group of buttons, of which one is selected. */
function Choice<T extends string>({
  label,
  value,
  options,
  onValue,
}: {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onValue: (value: T) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map((one) => (
        <Button key={one.value} aria-pressed={one.value === value} onClick={() => onValue(one.value)}>
          {one.label}
        </Button>
      ))}
    </div>
  );
}

/** A block of code to run or save, with a copy button. `copied` is the text to copy when it differs from the shown text. */
function Code({ text, what, copied = text }: { text: string; what: string; copied?: string }): JSX.Element {
  return (
    <div class="code-block">
      <CopyButton text={copied} what={what} />
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
    </div>
  );
}

/** Where the command can be used: the user's servers that the bot is in. */
function Where({ application }: { application: Application }): JSX.Element {
  const { value: bot, error } = useLoaded(() => findBot(application), []);
  return (
    <>
      <ErrorNotice error={error} />
      {bot?.servers.length === 0 && (
        <p>
          The bot is not in any of your servers yet. <a href={pagePath(application.id, '/install')}>Add it to a server</a> first.
        </p>
      )}
      {bot?.servers.map(({ id, name }) => (
        <p key={id}>
          <a class="button" href={`/servers/${id}`} target="_blank" rel="noopener">
            Open {name} in a new tab
          </a>
        </p>
      ))}
      <p>
        Send <code>/{sampleCommand.name}</code> in a channel.
      </p>
    </>
  );
}

/** A button that adds `/hello` to the saved commands. It is for endpoints, whose sample has no token to register commands. */
function RegisterCommand({ id }: { id: string }): JSX.Element {
  const isRegistered = useSignal(false);
  const task = useTask();
  const add = (): void =>
    void task.run(async () => {
      const list = path`/api/applications/${id}/commands`;
      const commands = await call<Command[]>('GET', list);
      if (!commands.some(({ kind, name }) => kind === 'slash' && name === sampleCommand.name))
        await call('PUT', list, [...commands, sampleCommand]);
      isRegistered.value = true;
    });
  return (
    <div role="status">
      <ErrorNotice error={task.error} />
      {isRegistered.value ? (
        <p>
          <code>/{sampleCommand.name}</code> is registered.
        </p>
      ) : (
        <Button busy={task.busy} onClick={add}>
          Register /{sampleCommand.name}
        </Button>
      )}
    </div>
  );
}

/** The shell command that runs a sample. The token is filled in only while it is fresh; the signing secret is copied but not shown. */
function Run({ application, sample }: { application: Application; sample: Sample }): JSX.Element {
  const token = freshTokens.value.get(application.id);
  if (sample.secret === 'SIGNING_SECRET')
    return (
      <>
        <Code
          text={commandLine(sample, undefined)}
          copied={commandLine(sample, application.signingSecret ?? undefined)}
          what="the command that runs it, with the signing secret filled in"
        />
        <p class="hint">The copied command contains your signing secret. The endpoint listens on port 3000; set PORT to use another.</p>
      </>
    );
  return (
    <>
      <Code text={commandLine(sample, token)} what="the command that runs it" />
      {token === undefined && (
        <p class="hint">
          Replace the placeholder with your bot’s token. If you lost it, <a href={pagePath(application.id, '/bot')}>reset it</a>, and the
          new token is filled in here.
        </p>
      )}
    </>
  );
}

function EndpointSteps({ application }: { application: Application }): JSX.Element {
  return (
    <>
      <li>
        <h2>Register the command</h2>
        <RegisterCommand id={application.id} />
      </li>
      <li>
        <h2>Save the URL of the endpoint</h2>
        <p>
          Make the endpoint reachable at a public https address, with a reverse proxy or a tunnel. Save this address as the Interactions
          Endpoint URL under <a href={pagePath(application.id, '')}>General Information</a>.
        </p>
        <p>
          To try it on your machine without an address, run <code>npm run forward -- {application.id}</code> in a clone of Parlance instead.
          It posts the interactions to <code>http://localhost:3000/</code>.
        </p>
      </li>
    </>
  );
}

function FirstBot({ application }: { application: Application }): JSX.Element {
  const { query } = useLocation();
  const way = useSignal<Way>(query.way === 'endpoint' ? 'endpoint' : 'gateway');
  const language = useSignal<Language>('javascript');
  const sample = samples[way.value][language.value](location.origin);
  return (
    <>
      <Choice
        label="How the bot receives commands"
        {...bind(way)}
        options={[
          { value: 'gateway', label: 'Gateway: your program stays connected' },
          { value: 'endpoint', label: 'Endpoint: Parlance calls your URL' },
        ]}
      />
      <Choice
        label="Language"
        {...bind(language)}
        options={[
          { value: 'javascript', label: 'JavaScript (Node.js 20.19 or newer)' },
          { value: 'python', label: 'Python (3.11 or newer)' },
        ]}
      />
      {way.value === 'gateway' && application.interactionsEndpointUrl !== null && (
        <p class="error-notice">
          This application has an Interactions Endpoint URL, so its commands are not sent over the gateway. Remove the URL under{' '}
          <a href={pagePath(application.id, '')}>General Information</a> to use this code.
        </p>
      )}
      <ol class="first-bot">
        <li>
          <h2>
            Save this as <code>{sample.file}</code>
          </h2>
          <Code text={sample.code} what={`the code of ${sample.file}`} />
        </li>
        <li>
          <h2>Install the kit in the same folder</h2>
          <Code text={sample.install} what="the command that installs it" />
          <p class="hint">
            The <a href="/developers/guides">guides</a> say what else a bot can do with it.
          </p>
        </li>
        <li>
          <h2>Run it</h2>
          <Run application={application} sample={sample} />
        </li>
        {way.value === 'endpoint' && <EndpointSteps application={application} />}
        <li>
          <h2>Use the command</h2>
          <Where application={application} />
        </li>
      </ol>
      <p>
        What else a bot can do is in the <a href="/developers/guides">guides</a> and the <a href="/developers/reference">reference</a>.
      </p>
    </>
  );
}

/** Code of a first bot with this application's ids, in two languages, for the gateway or an endpoint, and all steps until it answers. */
export function FirstBotPage(): JSX.Element {
  return (
    <Frame page="/first-bot" title="First bot">
      {(application) => <FirstBot application={application} />}
    </Frame>
  );
}

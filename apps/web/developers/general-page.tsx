import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Application } from '../../../lib/contract/application.ts';
import { Button } from '../ui/button.tsx';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { TextField, useTask } from '../ui/form.tsx';
import { showToast } from '../ui/toast.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { changeApplication, freshTokens, removeApplication, resetSecret } from './applications.ts';
import { CopyField } from './copy.tsx';
import { DeliveryLog } from './delivery-log.tsx';
import { EndpointSection } from './endpoint-section.tsx';
import { Frame, pagePath } from './frame.tsx';
import { IconField } from './icon-field.tsx';

/** The next steps for a new application, shown while its token is fresh. */
function NextSteps({ id }: { id: string }): JSX.Element {
  return (
    <section class="portal-card" aria-labelledby="next-steps">
      <h2 id="next-steps">Next steps</h2>
      <ol class="portal-steps">
        <li>
          <a href={pagePath(id, '/install')}>Add it to a server</a> so that people can use it.
        </li>
        <li>
          <a href={pagePath(id, '/first-bot')}>Run your first bot</a>. The example code registers <code>/hello</code> and answers it.
        </li>
      </ol>
    </section>
  );
}

function Details({ application }: { application: Application }): JSX.Element {
  const name = useSignal(application.name);
  const description = useSignal(application.description);
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void task
      .run(() => changeApplication(application.id, { name: name.value, description: description.value }))
      .then((done) => done && showToast('Saved.'));
  };
  const isSame = name.value === application.name && description.value === application.description;
  useUnsaved(!isSame);
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="Name"
        hint="Up to 32 characters. The bot and its role in each server have the same name."
        required
        autocomplete="off"
        value={name.value}
        onValue={(value) => (name.value = value)}
        error={task.error?.at('/name')}
      />
      <TextField
        label="Description"
        hint="Up to 300 characters. Shown in the App Directory."
        lines={3}
        value={description.value}
        onValue={(value) => (description.value = value)}
        error={task.error?.at('/description')}
      />
      <ErrorNotice error={task.error} shown={['/name', '/description']} />
      <div class="actions">
        <Button type="submit" variant="main" busy={task.busy} disabled={isSame || name.value.trim() === ''}>
          Save
        </Button>
      </div>
    </form>
  );
}

function Secrets({ application }: { application: Application }): JSX.Element {
  const isShown = useSignal(false);
  const isConfirming = useSignal(false);
  return (
    <>
      <CopyField label="Application ID" value={application.id} what="the application ID" />
      {application.signingSecret === null ? (
        <>
          <p>
            The signing secret can’t be read, because Parlance’s encryption key was replaced. Interactions are not sent until you reset the
            secret.
          </p>
          <Button onClick={() => (isConfirming.value = true)}>Reset signing secret</Button>
        </>
      ) : (
        <CopyField label="Signing secret" value={application.signingSecret} what="the signing secret" hidden={!isShown.value}>
          <Button aria-pressed={isShown.value} onClick={() => (isShown.value = !isShown.value)}>
            {isShown.value ? 'Hide' : 'Reveal'}
          </Button>
          <Button onClick={() => (isConfirming.value = true)}>Reset</Button>
        </CopyField>
      )}
      <p class="hint">
        Every request to your Interactions Endpoint is signed with this secret. Check the signature, and reject requests without a valid
        one.
      </p>
      {isConfirming.value && (
        <Confirm
          title="Reset signing secret?"
          action="Reset signing secret"
          run={() => resetSecret(application).then(() => showToast('The signing secret was reset.'))}
          onClose={() => (isConfirming.value = false)}
        >
          <p>
            The old secret stops working at once. Until your endpoint uses the new one, it rejects requests, and users see that the bot did
            not respond.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** The dialog that asks for the application's name before it deletes the application. */
function DeleteDialog({ application: { id, name }, onClose }: { application: Application; onClose: () => void }): JSX.Element {
  const { route } = useLocation();
  const typed = useSignal('');
  const task = useTask();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (typed.value !== name) return;
    void task.run(async () => {
      await removeApplication(id);
      onClose();
      route('/developers', true);
      showToast(`${name} was deleted.`);
    });
  };
  return (
    <Dialog title={`Delete ${name}?`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>The bot leaves every server, its commands are deleted, and its token stops working. Its messages stay. This can’t be undone.</p>
        <TextField
          label={`Type “${name}” to confirm`}
          autocomplete="off"
          autofocus
          value={typed.value}
          onValue={(value) => (typed.value = value)}
        />
        <ErrorNotice error={task.error} />
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="danger" busy={task.busy} disabled={typed.value !== name}>
            Delete application
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** General Information: an application's name, icon, ids, secrets and Interactions Endpoint. */
export function GeneralPage(): JSX.Element {
  const isDeleting = useSignal(false);
  return (
    <Frame page="" title="General Information">
      {(application) => (
        <>
          {freshTokens.value.has(application.id) && <NextSteps id={application.id} />}
          <section class="portal-section" aria-label="Name and icon">
            <IconField application={application} />
            <Details application={application} />
          </section>
          <section class="portal-section" aria-labelledby="secrets">
            <h2 id="secrets">IDs and secrets</h2>
            <Secrets application={application} />
          </section>
          <EndpointSection application={application} />
          <DeliveryLog id={application.id} />
          <section class="portal-section" aria-labelledby="delete">
            <h2 id="delete">Delete</h2>
            <p>Deleting an application also deletes its bot. This can’t be undone.</p>
            <div>
              <Button variant="danger" onClick={() => (isDeleting.value = true)}>
                Delete application
              </Button>
            </div>
          </section>
          {isDeleting.value && <DeleteDialog application={application} onClose={() => (isDeleting.value = false)} />}
        </>
      )}
    </Frame>
  );
}

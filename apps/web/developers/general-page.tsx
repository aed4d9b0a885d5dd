import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import type { Application } from '../../../lib/contract/application.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton, DialogButton, FormDialog } from '../ui/dialog.tsx';
import { Form, TextField, useForm } from '../ui/form.tsx';
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
  const { id, name, description } = application;
  const form = useForm({ name, description });
  const { now } = form;
  const save = async (): Promise<void> => {
    await changeApplication(id, now);
    showToast('Saved.');
  };
  const isSame = now.name === name && now.description === description;
  useUnsaved(!isSame);
  return (
    <Form form={form} run={save} action="Save" disabled={isSame || now.name.trim() === ''}>
      <TextField
        label="Name"
        hint="Up to 32 characters. The bot and its role in each server have the same name."
        required
        autocomplete="off"
        {...form.field('name')}
      />
      <TextField label="Description" hint="Up to 300 characters. Shown in the App Directory." lines={3} {...form.field('description')} />
    </Form>
  );
}

/** The button that resets the signing secret, with the text `children`. */
const ResetButton = ({ application, children }: { application: Application; children: string }): JSX.Element => (
  <ConfirmButton
    question="Reset signing secret?"
    text="The old secret stops working at once. Until your endpoint uses the new one, it rejects requests, and users see that the bot did not respond."
    action="Reset signing secret"
    run={() => resetSecret(application).then(() => showToast('The signing secret was reset.'))}
  >
    {children}
  </ConfirmButton>
);

function Secrets({ application }: { application: Application }): JSX.Element {
  const isShown = useSignal(false);
  return (
    <>
      <CopyField label="Application ID" value={application.id} what="the application ID" />
      {application.signingSecret === null ? (
        <>
          <p>
            The signing secret can’t be read, because Parlance’s encryption key was replaced. Interactions are not sent until you reset the
            secret.
          </p>
          <ResetButton application={application}>Reset signing secret</ResetButton>
        </>
      ) : (
        <CopyField label="Signing secret" value={application.signingSecret} what="the signing secret" hidden={!isShown.value}>
          <Button aria-pressed={isShown.value} onClick={() => (isShown.value = !isShown.value)}>
            {isShown.value ? 'Hide' : 'Reveal'}
          </Button>
          <ResetButton application={application}>Reset</ResetButton>
        </CopyField>
      )}
      <p class="hint">
        Every request to your Interactions Endpoint is signed with this secret. Check the signature, and reject requests without a valid
        one.
      </p>
    </>
  );
}

/** The dialog that asks for the application's name before it deletes the application. */
function DeleteDialog({ application: { id, name }, onClose }: { application: Application; onClose: () => void }): JSX.Element {
  const { route } = useLocation();
  const form = useForm({ typed: '' });
  const remove = async (): Promise<void> => {
    await removeApplication(id);
    onClose();
    route('/developers', true);
    showToast(`${name} was deleted.`);
  };
  return (
    <FormDialog
      title={`Delete ${name}?`}
      onClose={onClose}
      form={form}
      run={remove}
      action="Delete application"
      variant="danger"
      disabled={form.now.typed !== name}
    >
      <p>The bot leaves every server, its commands are deleted, and its token stops working. Its messages stay. This can’t be undone.</p>
      <TextField label={`Type “${name}” to confirm`} autocomplete="off" autofocus {...form.bind('typed')} />
    </FormDialog>
  );
}

/** General Information: an application's name, icon, ids, secrets and Interactions Endpoint. */
export function GeneralPage(): JSX.Element {
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
              <DialogButton variant="danger" dialog={(close) => <DeleteDialog application={application} onClose={close} />}>
                Delete application
              </DialogButton>
            </div>
          </section>
        </>
      )}
    </Frame>
  );
}

import { Plus } from 'lucide';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { limits } from '../../../lib/base/limits.ts';
import type { Application } from '../../../lib/contract/application.ts';
import { Avatar } from '../ui/avatar.tsx';
import { DialogButton, FormDialog } from '../ui/dialog.tsx';
import { TextField, useForm } from '../ui/form.tsx';
import { Icon } from '../ui/icon.tsx';
import { useCreate } from '../ui/use-create.ts';
import { applications, createApplication } from './applications.ts';
import { pagePath } from './frame.tsx';
import { usePage } from './page.ts';

/** The dialog that asks for a name, creates the application and opens it. */
function NewDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const { route } = useLocation();
  const form = useForm({ name: '' });
  const create = useCreate();
  const run = async (): Promise<void> => {
    const { id } = await createApplication(form.now.name, create);
    onClose();
    route(pagePath(id, ''));
  };
  return (
    <FormDialog
      title="New application"
      onClose={onClose}
      form={form}
      run={run}
      action="Create application"
      disabled={form.now.name.trim() === ''}
    >
      <TextField
        label="Name"
        hint="Up to 32 characters. The bot gets the same name. You can change both later."
        required
        autofocus
        autocomplete="off"
        {...form.field('name')}
      />
    </FormDialog>
  );
}

function Item({ application: { id, name, description, iconUrl, ...marks } }: { application: Application }): JSX.Element {
  return (
    <li>
      <a class="portal-item" href={pagePath(id, '')}>
        <Avatar id={id} name={name} url={iconUrl} size={48} square />
        <span>
          <strong>{name}</strong>
          {description && <span class="soft portal-line">{description}</span>}
          <span class="portal-marks">
            <span class="portal-mark">{marks.public ? 'Public' : 'Private'}</span>
            {marks.inDirectory && <span class="portal-mark">In the App Directory</span>}
            {marks.interactionsEndpointUrl !== null && <span class="portal-mark">Endpoint</span>}
          </span>
        </span>
      </a>
    </li>
  );
}

/** The user's applications, and the button to create one. */
export function ListPage(): JSX.Element {
  usePage('My applications');
  const all = applications.value ?? [];
  const isFull = all.length >= limits.applicationsPerPerson;
  return (
    <main class="portal-main portal-alone" id="page">
      <div class="portal-top">
        <h1>My applications</h1>
        <DialogButton variant="main" disabled={isFull} dialog={(close) => <NewDialog onClose={close} />}>
          <Icon of={Plus} /> New application
        </DialogButton>
      </div>
      {isFull && <p>You have reached the limit of {limits.applicationsPerPerson} applications. Delete one to create another.</p>}
      {all.length === 0 ? (
        <p class="portal-card">
          An application is a bot with its commands. Create one, and run your first bot in a few minutes. All you need is a name.
        </p>
      ) : (
        <ul class="portal-list">
          {all.map((one) => (
            <Item key={one.id} application={one} />
          ))}
        </ul>
      )}
    </main>
  );
}

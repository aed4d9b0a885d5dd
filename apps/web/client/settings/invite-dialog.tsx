import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { limits } from '../../../../lib/base/limits.ts';
import type { Invite, InviteInput } from '../../../../lib/contract/member.ts';
import type { Server } from '../../../../lib/contract/server.ts';
import { path } from '../../api/call.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { countOf } from '../../ui/counts.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, SelectField, useForm } from '../../ui/form.tsx';
import { momentOf, spanOf } from '../../ui/times.ts';
import { useCreate } from '../../ui/use-create.ts';
import './settings.css';

/** Returns the link of an invite code. */
export const inviteLink = (code: string): string => `${location.origin}/invite/${code}`;

const ages = [1800, 3600, 21_600, 43_200, 86_400, limits.inviteMaxAgeSecs, 0].map((secs) => ({
  value: String(secs),
  label: secs === 0 ? 'Never' : `After ${spanOf(secs)}`,
}));

const uses = [0, 1, 5, 10, 25, 50, limits.inviteMaxUses].map((count) => ({
  value: String(count),
  label: count === 0 ? 'No limit' : countOf(count, 'use'),
}));

function CreatedInvite({ invite }: { invite: Invite }): JSX.Element {
  const link = inviteLink(invite.code);
  return (
    <div class="made-invite" role="status">
      <p class="settings-line">
        <code class="settings-grow">{link}</code>
        <CopyButton text={link} what="the invite link">
          Copy
        </CopyButton>
      </p>
      <p class="hint">
        {invite.maxUses === 0 ? 'Unlimited uses' : invite.maxUses === 1 ? 'Can be used once' : `Can be used ${invite.maxUses} times`},{' '}
        {invite.expiresAt ? `expires ${momentOf(invite.expiresAt)}.` : 'never expires.'}
      </p>
    </div>
  );
}

/** The dialog that creates an invite and shows its link to copy. */
export function InviteDialog({ server, onClose, onCreated }: { server: Server; onClose: () => void; onCreated?: () => void }): JSX.Element {
  const form = useForm({ maxAgeSecs: '86400', maxUses: '0' });
  const invite = useSignal<Invite | null>(null);
  const create = useCreate();
  const developer = server.types.includes('developer');
  const createInvite = async (): Promise<void> => {
    const input: InviteInput = { maxAgeSecs: Number(form.now.maxAgeSecs), maxUses: Number(form.now.maxUses) };
    invite.value = await create<Invite>(path`/api/servers/${server.id}/invites`, input);
    onCreated?.();
  };
  return (
    <Dialog title={`Invite people to ${server.name}`} onClose={onClose}>
      <Form
        form={form}
        run={createInvite}
        action={invite.value ? 'Create another link' : 'Create link'}
        variant={invite.value ? 'plain' : 'main'}
      >
        {server.invitesPaused && (
          <p class="settings-notice">Invites are paused: nobody can join until they are resumed in the server overview.</p>
        )}
        {developer ? (
          <p class="settings-notice">
            Invites to a developer server can be used once and expire after at most {spanOf(limits.developerInviteMaxAgeSecs)}.
          </p>
        ) : (
          <>
            {server.types.includes('staff') && (
              <p class="settings-notice">This is a staff server: only members with Manage Server can invite people.</p>
            )}
            <SelectField label="Expires" options={ages} {...form.bind('maxAgeSecs')} />
            <SelectField label="Maximum uses" options={uses} {...form.bind('maxUses')} />
          </>
        )}
        {invite.value && <CreatedInvite invite={invite.value} />}
      </Form>
    </Dialog>
  );
}

import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import type { ChosenStatus, Me, PresencePatch } from '../../../../lib/contract/user.ts';
import { call } from '../../api/call.ts';
import { me } from '../../state/session.ts';
import { TextField } from '../../ui/form.tsx';
import { DraftForm, useDraft } from './draft.tsx';

const choices: readonly { value: ChosenStatus; label: string; hint: string }[] = [
  { value: 'online', label: 'Online', hint: 'Others see you as online.' },
  { value: 'idle', label: 'Idle', hint: 'Others see that you are away.' },
  { value: 'dnd', label: 'Do not disturb', hint: 'Others see that you don’t want to be disturbed.' },
  { value: 'invisible', label: 'Invisible', hint: 'You appear offline but can use Parlance as usual.' },
];

/** The user's status as others see it. It applies until it is changed, and is shown while the user has a page open. */
export function StatusPage(): JSX.Element {
  const name = useId();
  const draft = useDraft({ status: me.value?.status ?? ('online' as const), customStatus: me.value?.customStatus ?? '' });
  const save = async (): Promise<void> => {
    const patch: PresencePatch = draft.patch;
    const saved = await call<Me>('PATCH', '/api/users/@me/presence', patch);
    if (me.value) me.value = { ...me.value, ...saved };
  };
  return (
    <DraftForm draft={draft} save={save}>
      <fieldset class="settings-choices">
        <legend>Status</legend>
        {choices.map(({ value, label, hint }) => (
          <div key={value} class="check-field">
            <input
              type="radio"
              id={`${name}-${value}`}
              name={name}
              checked={draft.now.status === value}
              aria-describedby={`${name}-${value}-hint`}
              onChange={() => draft.set({ status: value })}
            />
            <label for={`${name}-${value}`}>{label}</label>
            <p class="hint" id={`${name}-${value}-hint`}>
              {hint}
            </p>
          </div>
        ))}
      </fieldset>
      <TextField
        label="Custom status"
        hint={`Shown next to your name. Up to ${limits.customStatusChars} characters.`}
        {...draft.field('customStatus')}
      />
    </DraftForm>
  );
}

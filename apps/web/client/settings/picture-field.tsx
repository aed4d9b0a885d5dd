import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { limits } from '../../../../lib/base/limits.ts';
import type { Picture } from '../../../../lib/contract/shared.ts';
import { call } from '../../api/call.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { useTask } from '../../ui/form.tsx';
import { sizeOf } from '../../ui/sizes.ts';

const acceptedTypes = 'image/png,image/jpeg,image/webp,image/gif';

/** The field of an avatar or server icon, which can be uploaded and removed. `at` is its API path; `onPicture` gets the new URL. */
export function PictureField({
  label,
  at,
  owner,
  square = false,
  onPicture,
}: {
  label: string;
  at: string;
  owner: { id: string; name: string; url: string | null };
  square?: boolean;
  onPicture: (url: string | null) => void;
}): JSX.Element {
  const id = useId();
  const task = useTask();
  const tooLarge = useSignal(false);
  const put = (file: File | undefined): void => {
    if (!file) return;
    tooLarge.value = file.size > limits.pictureBytes;
    task.clear();
    if (!tooLarge.value)
      void task.run(async () => {
        const { url } = await call<Picture>('PUT', at, file);
        onPicture(url);
      });
  };
  const clear = (): void =>
    void task.run(async () => {
      await call('DELETE', at);
      onPicture(null);
    });
  return (
    <div class="picture-field" role="group" aria-labelledby={`${id}-label`}>
      <Avatar {...owner} size={80} square={square} />
      <div class="picture-tools">
        <strong id={`${id}-label`}>{label}</strong>
        <div class="settings-line">
          <label class="button" aria-disabled={task.busy}>
            {task.busy ? 'Uploading…' : 'Choose image'}
            <input
              type="file"
              class="visually-hidden"
              accept={acceptedTypes}
              disabled={task.busy}
              aria-describedby={`${id}-hint`}
              onChange={({ currentTarget }) => {
                put(currentTarget.files?.[0]);
                currentTarget.value = '';
              }}
            />
          </label>
          {owner.url && (
            <Button busy={task.busy} onClick={clear}>
              Remove
            </Button>
          )}
        </div>
        <p class="hint" id={`${id}-hint`}>
          PNG, JPEG, WebP or GIF, up to {sizeOf(limits.pictureBytes)}. The image is cropped to a square.
        </p>
        {tooLarge.value && (
          <p class="field-error" role="alert">
            This image is larger than {sizeOf(limits.pictureBytes)}.
          </p>
        )}
        <ErrorNotice error={task.error} />
      </div>
    </div>
  );
}

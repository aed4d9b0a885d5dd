import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { limits } from '../../../lib/base/limits.ts';
import type { Application } from '../../../lib/contract/application.ts';
import { ApiError, call, path } from '../api/call.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { useTask } from '../ui/form.tsx';
import { sizeOf } from '../ui/sizes.ts';
import { showToast } from '../ui/toast.tsx';
import { putApplication } from './applications.ts';

const types = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

/** Checks a file before the upload, with the same rules as the API. Throws if it is refused. */
function check(file: File): void {
  const message = !types.includes(file.type)
    ? 'The icon must be a PNG, JPEG, WebP or GIF image.'
    : file.size > limits.pictureBytes
      ? `The image is larger than ${sizeOf(limits.pictureBytes)}.`
      : undefined;
  if (message) throw new ApiError(0, { code: 'unfit_image', message });
}

/** The icon of an application, which is also its bot's avatar. It can be uploaded, replaced and removed. */
export function IconField({ application }: { application: Application }): JSX.Element {
  const { id, name, iconUrl, bot } = application;
  const input = useRef<HTMLInputElement>(null);
  const task = useTask();
  const show = (url: string | null): void => putApplication({ ...application, iconUrl: url, bot: { ...bot, avatarUrl: url } });
  const upload = (file: File | undefined): void => {
    if (!file) return;
    void task
      .run(async () => {
        check(file);
        show((await call<{ url: string }>('PUT', path`/api/applications/${id}/icon`, file)).url);
      })
      .then((done) => done && showToast('Icon saved.'));
  };
  const remove = (): void =>
    void task.run(async () => {
      await call('DELETE', path`/api/applications/${id}/icon`);
      show(null);
    });
  return (
    <div class="icon-field">
      <Avatar id={id} name={name} url={iconUrl} size={96} square />
      <div>
        <input
          ref={input}
          class="visually-hidden"
          type="file"
          tabIndex={-1}
          aria-hidden="true"
          accept={types.join(',')}
          onChange={({ currentTarget }) => {
            upload(currentTarget.files?.[0]);
            // Reset, so that the same file can be chosen again.
            currentTarget.value = '';
          }}
        />
        <div class="icon-actions">
          <Button busy={task.busy} onClick={() => input.current?.click()}>
            {iconUrl ? 'Change icon' : 'Upload icon'}
          </Button>
          {iconUrl && (
            <Button variant="quiet" disabled={task.busy} onClick={remove}>
              Remove icon
            </Button>
          )}
        </div>
        <p class="hint">
          PNG, JPEG, WebP or GIF, up to {sizeOf(limits.pictureBytes)}. Cropped to a square and also used as the bot’s avatar.
        </p>
        <ErrorNotice error={task.error} />
      </div>
    </div>
  );
}

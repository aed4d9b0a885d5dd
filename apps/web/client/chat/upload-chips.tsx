import { File as FileIcon, X } from 'lucide';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { sizeOf } from '../../ui/sizes.ts';
import type { DraftFile } from './composer-drafts.ts';
import { fileErrors } from './upload-checks.ts';

/** Image types that every browser shows. */
const previewable = /^image\/(?:png|jpeg|webp|gif|avif)$/;

/** A small preview of a chosen image. Its object URL is revoked when the preview is removed. */
function Thumbnail({ file }: { file: File }): JSX.Element {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!previewable.test(file.type)) return undefined;
    const objectUrl = URL.createObjectURL(file);
    setUrl(objectUrl);
    return () => URL.revokeObjectURL(objectUrl);
  }, [file]);
  return url ? <img class="upload-picture" src={url} alt="" onError={() => setUrl(null)} /> : <Icon of={FileIcon} size="2rem" />;
}

/** The files of the next message, each with the reason when it cannot be sent. */
export function UploadChips({ files, onRemove }: { files: readonly DraftFile[]; onRemove: (id: string) => void }): JSX.Element | null {
  if (files.length === 0) return null;
  const errors = fileErrors(files.map(({ file }) => file));
  return (
    <ul class="upload-chips" aria-label="Files to send">
      {files.map(({ id, file }, at) => (
        <li key={id} class={`upload-chip ${errors[at] ? 'bad' : ''}`}>
          <Thumbnail file={file} />
          <span class="upload-about">
            <bdi class="upload-name" title={file.name}>
              {file.name}
            </bdi>
            <span class="soft">{sizeOf(file.size)}</span>
            {errors[at] && <span class="field-error">{errors[at]}</span>}
          </span>
          <IconButton of={X} label={`Remove ${file.name}`} onClick={() => onRemove(id)} />
        </li>
      ))}
    </ul>
  );
}

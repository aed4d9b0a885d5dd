import { File as FileIcon, X } from 'lucide';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { sizeText } from './attachment.tsx';
import type { Picked } from './composer-drafts.ts';
import { fileFaults } from './upload-checks.ts';

/** Image types that every browser shows. */
const shown = /^image\/(?:png|jpeg|webp|gif|avif)$/;

/** A small preview of a chosen image. Its object URL is revoked when the preview is removed. */
function Thumbnail({ file }: { file: File }): JSX.Element {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!shown.test(file.type)) return undefined;
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url ? <img class="upload-picture" src={url} alt="" onError={() => setUrl(null)} /> : <Icon of={FileIcon} size="2rem" />;
}

/** The files of the next message, each with the reason when it cannot be sent. */
export function UploadChips({ files, onRemove }: { files: readonly Picked[]; onRemove: (id: string) => void }): JSX.Element | null {
  if (files.length === 0) return null;
  const faults = fileFaults(files.map(({ file }) => file));
  return (
    <ul class="upload-chips" aria-label="Files to send">
      {files.map(({ id, file }, at) => (
        <li key={id} class={`upload-chip ${faults[at] ? 'bad' : ''}`}>
          <Thumbnail file={file} />
          <span class="upload-about">
            <bdi class="upload-name" title={file.name}>
              {file.name}
            </bdi>
            <span class="soft">{sizeText(file.size)}</span>
            {faults[at] && <span class="field-error">{faults[at]}</span>}
          </span>
          <IconButton of={X} label={`Remove ${file.name}`} onClick={() => onRemove(id)} />
        </li>
      ))}
    </ul>
  );
}

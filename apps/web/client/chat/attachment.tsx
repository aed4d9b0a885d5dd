import { useSignal } from '@preact/signals';
import { Download, FileText } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Attachment } from '../../../../lib/contract/message.ts';
import { Icon } from '../../ui/icon.tsx';
import { ownPath } from '../../ui/links.ts';
import { safeFileName } from '../../ui/safe-text.ts';
import './attachment.css';
import { sizeOf } from '../../ui/sizes.ts';
import { ImageViewer } from './image-viewer.tsx';

const maxSize = { width: 400, height: 320 };
/** An image that is still being converted gets 503. It is requested again after `ms` milliseconds, at most `times` times. */
const retry = { ms: 3_000, times: 10 };

/** Whether a file is shown as an image: a raster image whose size is known. */
export const isImage = ({ contentType, width, height }: Attachment): boolean =>
  /^image\/(png|jpeg|webp|gif|avif)$/.test(contentType) && width !== null && height !== null && width > 0 && height > 0;

/** The files of a message: images with a viewer, video, audio, and cards to download the rest. */
export function Attachments({ list }: { list: readonly Attachment[] }): JSX.Element | null {
  const viewedId = useSignal<string | null>(null);
  if (!list.length) return null;
  const images = list.filter(isImage);
  return (
    <div class="attachments">
      {list.map((one) =>
        isImage(one) ? <Picture key={one.id} file={one} onOpen={() => (viewedId.value = one.id)} /> : <OtherFile key={one.id} file={one} />,
      )}
      {viewedId.value !== null && <ImageViewer images={images} first={viewedId.value} onClose={() => (viewedId.value = null)} />}
    </div>
  );
}

function Picture({ file, onOpen }: { file: Attachment; onOpen: () => void }): JSX.Element {
  const tries = useSignal(0);
  const failed = useSignal(false);
  useEffect(() => {
    if (!failed.value || tries.value >= retry.times) return undefined;
    const timer = setTimeout(() => {
      tries.value++;
      failed.value = false;
    }, retry.ms);
    return () => clearTimeout(timer);
  }, [failed.value]);
  if (failed.value && tries.value >= retry.times) return <Card file={file} />;
  const [width, height] = [file.width ?? 1, file.height ?? 1];
  const scale = Math.min(1, maxSize.width / width, maxSize.height / height);
  // The box has its final size before the image is loaded, so that the layout does not move.
  const style = { width: `${Math.max(24, Math.round(width * scale))}px`, aspectRatio: `${width} / ${height}` };
  return (
    <button type="button" class="picture" style={style} aria-label={`Enlarge image ${safeFileName(file.filename)}`} onClick={onOpen}>
      {failed.value ? (
        <span class="hint">Processing…</span>
      ) : (
        <img src={ownPath(file.url)} alt="" decoding="async" onError={() => (failed.value = true)} />
      )}
    </button>
  );
}

function OtherFile({ file }: { file: Attachment }): JSX.Element {
  const name = safeFileName(file.filename);
  if (file.contentType.startsWith('video/'))
    return (
      <figure class="media">
        {/* Captions can only come from the uploader. */}
        <video src={ownPath(file.url)} controls preload="metadata" aria-label={name} />
        <Card file={file} />
      </figure>
    );
  if (file.contentType.startsWith('audio/'))
    return (
      <figure class="media">
        <audio src={ownPath(file.url)} controls preload="none" aria-label={name} />
        <Card file={file} />
      </figure>
    );
  return <Card file={file} />;
}

function Card({ file: { filename, url, size } }: { file: Attachment }): JSX.Element {
  return (
    <a class="file-card" href={ownPath(url)} download={filename}>
      <Icon of={FileText} size="1.75em" />
      <span class="file-name">
        <bdi>{safeFileName(filename)}</bdi>
        <span class="hint">{sizeOf(size)}</span>
      </span>
      <Icon of={Download} />
      <span class="visually-hidden">Download</span>
    </a>
  );
}

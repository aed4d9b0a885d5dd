import { useSignal } from '@preact/signals';
import { ChevronLeft, ChevronRight, Download } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Attachment } from '../../../../lib/contract/message.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ownPath } from '../../ui/links.ts';
import { safeFileName } from '../../ui/safe-text.ts';

/** Shows the images of a message one at a time, scaled to the window or in original size. Arrow keys move between images. */
export function ImageViewer({
  images,
  first,
  onClose,
}: {
  images: readonly Attachment[];
  first: string;
  onClose: () => void;
}): JSX.Element | null {
  const at = useSignal(
    Math.max(
      0,
      images.findIndex(({ id }) => id === first),
    ),
  );
  const isOriginalSize = useSignal(false);
  const image = images[at.value] ?? images[0];
  const go = (by: number): void => {
    at.value = (at.value + by + images.length) % images.length;
    isOriginalSize.value = false;
  };
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent): void => {
      if (isOriginalSize.value) return;
      if (key === 'ArrowLeft') go(-1);
      else if (key === 'ArrowRight') go(1);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [images.length]);
  if (!image) return null;
  const name = safeFileName(image.filename);
  return (
    <Dialog title={name} onClose={onClose} wide>
      <div class="image-viewer">
        {/* In original size the frame scrolls; `tabIndex` makes that possible by keyboard. */}
        <div class={`image-viewer-frame ${isOriginalSize.value ? 'large' : ''}`} tabIndex={0} role="group" aria-label={name}>
          <img
            src={ownPath(image.url)}
            alt={name}
            width={image.width ?? undefined}
            height={image.height ?? undefined}
            onClick={() => (isOriginalSize.value = !isOriginalSize.value)}
          />
        </div>
        <div class="actions">
          {images.length > 1 && (
            <span class="image-viewer-steps">
              <IconButton of={ChevronLeft} label="Previous image" onClick={() => go(-1)} />
              <span role="status">
                {at.value + 1} of {images.length}
              </span>
              <IconButton of={ChevronRight} label="Next image" onClick={() => go(1)} />
            </span>
          )}
          <Button aria-pressed={isOriginalSize.value} onClick={() => (isOriginalSize.value = !isOriginalSize.value)}>
            Original size
          </Button>
          <a class="button plain" href={ownPath(image.url)} download={image.filename}>
            <Icon of={Download} /> Download
          </a>
        </div>
      </div>
    </Dialog>
  );
}

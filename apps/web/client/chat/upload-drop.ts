import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { say } from '../../ui/toast.tsx';

/** Returns the dropped files without folders, which cannot be sent. */
function droppedFiles(data: DataTransfer): File[] {
  const items = [...data.items].filter(({ kind }) => kind === 'file');
  const whole = items.filter((item) => item.webkitGetAsEntry()?.isDirectory !== true);
  if (whole.length < items.length) say('Folders cannot be sent; put their files together in one archive.', true);
  return whole.flatMap((item) => item.getAsFile() ?? []);
}

/** Returns the pasted files; none when the clipboard also contains text, as when a part of a table or document is pasted. */
export function pastedFiles(data: DataTransfer | null): File[] {
  if (!data || data.types.includes('text/plain')) return [];
  return [...data.files];
}

const holdsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;

/**
 * Accepts files that are dropped anywhere on the page. Returns true while files are dragged over it. Without `mayDrop`, a message says that files cannot be
 * sent here. The browser never opens a dropped file.
 */
export function useDropTarget(mayDrop: boolean, onFiles: (files: File[]) => void): boolean {
  const over = useSignal(false);
  const now = useRef({ mayDrop, onFiles });
  now.current = { mayDrop, onFiles };
  useEffect(() => {
    const hold = (event: DragEvent): void => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      over.value = now.current.mayDrop && !document.querySelector('dialog[open]');
    };
    const leave = (event: DragEvent): void => {
      // Without a related target, the pointer left the window.
      if (event.relatedTarget === null) over.value = false;
    };
    const drop = (event: DragEvent): void => {
      if (!holdsFiles(event) || event.defaultPrevented || !event.dataTransfer) return;
      event.preventDefault();
      const wasOver = over.value;
      over.value = false;
      if (wasOver) now.current.onFiles(droppedFiles(event.dataTransfer));
      else if (!now.current.mayDrop) say('You cannot send files here: it needs the permission Attach Files.', true);
    };
    addEventListener('dragover', hold);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', hold);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }, []);
  return over.value;
}

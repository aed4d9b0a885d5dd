import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { showToast } from '../../ui/toast.tsx';

/** Returns the dropped files without folders, which cannot be sent. */
function droppedFiles(data: DataTransfer): File[] {
  const items = [...data.items].filter(({ kind }) => kind === 'file');
  const files = items.filter((item) => item.webkitGetAsEntry()?.isDirectory !== true);
  if (files.length < items.length) showToast('You can’t send folders. Send an archive (such as a ZIP file) instead.', true);
  return files.flatMap((item) => item.getAsFile() ?? []);
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
  const isOver = useSignal(false);
  const latest = useRef({ mayDrop, onFiles });
  latest.current = { mayDrop, onFiles };
  useEffect(() => {
    const onDragOver = (event: DragEvent): void => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      isOver.value = latest.current.mayDrop && !document.querySelector('dialog[open]');
    };
    const onDragLeave = (event: DragEvent): void => {
      // Without a related target, the pointer left the window.
      if (event.relatedTarget === null) isOver.value = false;
    };
    const onDrop = (event: DragEvent): void => {
      if (!holdsFiles(event) || event.defaultPrevented || !event.dataTransfer) return;
      event.preventDefault();
      const wasOver = isOver.value;
      isOver.value = false;
      if (wasOver) latest.current.onFiles(droppedFiles(event.dataTransfer));
      else if (!latest.current.mayDrop) showToast('You don’t have permission to attach files here.', true);
    };
    addEventListener('dragover', onDragOver);
    addEventListener('dragleave', onDragLeave);
    addEventListener('drop', onDrop);
    return () => {
      removeEventListener('dragover', onDragOver);
      removeEventListener('dragleave', onDragLeave);
      removeEventListener('drop', onDrop);
    };
  }, []);
  return isOver.value;
}

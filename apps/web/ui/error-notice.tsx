import type { JSX } from 'preact';
import type { ApiError } from '../api/call.ts';
import { toFieldLabel } from '../api/error-texts.ts';
import { Button } from './button.tsx';
import { useRetry } from './use-retry.ts';

/**
 * Shows an error: its message, the missing permissions, and the field errors that no control of the page shows. Shows nothing without an error. `retry`
 * loads again: by a button, and automatically when the error is temporary.
 */
export function ErrorNotice({
  error,
  shown = [],
  retry,
}: {
  error: ApiError | null | undefined;
  shown?: readonly string[];
  retry?: () => void;
}): JSX.Element | null {
  useRetry(error, retry);
  if (!error) return null;
  const others = error.errors.filter(({ path }) => !shown.includes(path));
  const isAboutFields = (error.code === 'invalid_request' || error.code === 'invalid_options') && error.errors.length > 0;
  const fieldsText = others.length === 0 ? 'Check the highlighted fields.' : 'Check what you entered:';
  return (
    <div class="error-notice" role="alert">
      <p>{isAboutFields ? fieldsText : error.message}</p>
      {error.missing.length > 0 && <p>Missing permissions: {error.missing.join(', ')}.</p>}
      {others.length > 0 && (
        <ul>
          {others.map(({ path, message }) => (
            <li key={path}>
              <strong>{toFieldLabel(path)}</strong>: {message}
            </li>
          ))}
        </ul>
      )}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

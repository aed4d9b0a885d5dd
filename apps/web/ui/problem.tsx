import type { JSX } from 'preact';
import type { ApiError } from '../api/call.ts';
import { Button } from './button.tsx';
import { useRetry } from './use-retry.ts';

/**
 * Shows an error: the API's message, the missing permissions, and the field errors that no control of the page shows. Shows nothing without an error. `again`
 * reads again: by a button, and automatically when the error is temporary.
 */
export function Problem({
  error,
  shown = [],
  again,
}: {
  error: ApiError | null | undefined;
  shown?: readonly string[];
  again?: () => void;
}): JSX.Element | null {
  useRetry(error, again);
  if (!error) return null;
  const others = error.errors.filter(({ path }) => !shown.includes(path));
  const isAllShown = error.code === 'invalid_request' && error.errors.length > 0 && others.length === 0;
  return (
    <div class="problem" role="alert">
      <p>
        {isAllShown ? 'Check the marked fields.' : error.message}
        {error.retryAfter !== null && ` Try again in ${error.retryAfter} s.`}
      </p>
      {error.missing.length > 0 && <p>Missing: {error.missing.join(', ')}.</p>}
      {others.length > 0 && (
        <ul>
          {others.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

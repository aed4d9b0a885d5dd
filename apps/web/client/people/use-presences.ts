import { useEffect, useMemo } from 'preact/hooks';
import { showPresences } from '../../state/watch.ts';

/** Keeps the presences of these accounts up to date while the component is shown. */
export function usePresences(userIds: readonly string[]): void {
  const part = useMemo(() => Symbol('part of the page'), []);
  useEffect(() => showPresences(part, userIds), [userIds.join()]);
  useEffect(() => () => showPresences(part, []), []);
}

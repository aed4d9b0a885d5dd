import type { JSX } from 'preact';
import type { ServerType } from '../../../../lib/contract/server.ts';

/** The mark of each server type, and what it means. */
export const serverTypeNames: Record<ServerType, [mark: string, meaning: string]> = {
  official: ['Official', 'Run by the platform'],
  staff: ['Staff', 'Platform staff server'],
  developer: ['Developer', 'Platform developer server'],
  verified: ['Verified', 'Verified by the platform'],
  partnered: ['Partner', 'Part of the partner program'],
};

/** The types that the platform team gave a server, as marks beside its name. */
export function TypeMarks({ types }: { types: readonly ServerType[] }): JSX.Element {
  return (
    <>
      {types.map((type) => (
        <span key={type} class="tag" title={serverTypeNames[type][1]}>
          {serverTypeNames[type][0]}
        </span>
      ))}
    </>
  );
}

import { guides as built } from 'virtual:guides';
import type { Guide } from '../reference/guide.ts';

/** Every guide, in the order of the navigation. Its sections and the code that shows them are loaded when it is opened or searched. */
export const guides: readonly Guide[] = built.map(({ load, ...guide }) => ({
  ...guide,
  load: async () => {
    const [{ sections }, { renderSection }] = await Promise.all([load(), import('./render-nodes.tsx')]);
    return sections.map(({ nodes, ...section }) => ({ ...section, render: () => renderSection(nodes) }));
  },
}));

import type { Embed } from '../../../contract/message.ts';
import { colors, embedOf } from './look.ts';
import { bounds, type Fields, lineAt, lineOf, rawAt } from './read.ts';
import { type Common, commonOf } from './subject.ts';

/** The facts about a branch or tag that was created or deleted. */
export interface RefFacts extends Common {
  event: 'create' | 'delete';
  kind: 'branch' | 'tag';
  name: string;
}

/** Reads a `create` or `delete`. */
export const readRef =
  (event: RefFacts['event']) =>
  (payload: Fields): RefFacts | string => {
    const kind = rawAt(payload, 'ref_type');
    if (kind !== 'branch' && kind !== 'tag')
      return `\`${event}\` of \`${lineAt(payload, bounds.action, 'ref_type')}\` posts nothing, of a branch or tag it does`;
    const name = lineOf(rawAt(payload, 'ref').replace(/^refs\/(?:heads|tags)\//, ''), bounds.branch);
    return name === '' ? `\`${event}\` of a ${kind} without a name` : { event, ...commonOf(payload), kind, name };
  };

/** The post of a branch or tag that was created or deleted. */
export function renderRef(facts: RefFacts): Embed {
  const { event, kind, name } = facts;
  const [done, color] = event === 'create' ? ['created', colors.created] : ['deleted', colors.deleted];
  return embedOf(facts, { title: `${kind === 'branch' ? 'Branch' : 'Tag'} ${done}: ${name}`, url: null, color });
}

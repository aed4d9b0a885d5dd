import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed } from './embed.ts';
import { bounds, type Fields, lineAt, stringAt, toLine } from './payload.ts';
import { type CommonFacts, readCommonFacts } from './subject.ts';

/** The facts about a branch or tag that was created or deleted. */
export interface RefFacts extends CommonFacts {
  event: 'create' | 'delete';
  kind: 'branch' | 'tag';
  name: string;
}

/** Reads a `create` or `delete`. */
export const readRef =
  (event: RefFacts['event']) =>
  (payload: Fields): RefFacts | string => {
    const kind = stringAt(payload, 'ref_type');
    if (kind !== 'branch' && kind !== 'tag')
      return `\`${event}\` of \`${lineAt(payload, bounds.action, 'ref_type')}\` is not posted; only branches and tags are`;
    const name = toLine(stringAt(payload, 'ref').replace(/^refs\/(?:heads|tags)\//, ''), bounds.branch);
    return name === '' ? `\`${event}\` of a ${kind} without a name` : { event, ...readCommonFacts(payload), kind, name };
  };

/** The post of a branch or tag that was created or deleted. */
export function renderRef(facts: RefFacts): Embed {
  const { event, kind, name } = facts;
  const [done, color] = event === 'create' ? ['created', colors.created] : ['deleted', colors.deleted];
  return createEmbed(facts, { title: `${kind === 'branch' ? 'Branch' : 'Tag'} ${done}: ${name}`, url: null, color });
}

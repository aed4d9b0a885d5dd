import { expect } from 'chai';
import { requireValid } from '../../lib/contract/check.ts';
import { Embed } from '../../lib/contract/embed.ts';
import { checkEmbeds } from '../../lib/domain/messages/draft.ts';
import { type Facts, parseDelivery, renderDelivery } from '../../lib/domain/webhooks/codehost/index.ts';
import { gitea, giteaAuthor, github, githubAuthor, gogs, gogsAuthor } from './hosts.ts';

/** Renders the embed of a delivery from its facts as they are stored. Fails when the facts are too large or the embed is invalid. */
export function embedOf(event: string, payload: unknown): Embed {
  const reading = parseDelivery(event, payload);
  if (!('facts' in reading)) throw new Error(`ignored: ${reading.ignored}`);
  const stored = JSON.stringify(reading.facts);
  expect(Buffer.byteLength(stored), 'bytes of facts').to.be.at.most(16_000);
  const embed = renderDelivery(JSON.parse(stored) as Facts);
  requireValid(Embed, embed, 'body');
  expect(checkEmbeds([embed])).to.deep.equal([embed]);
  return embed;
}

/** Declares the test that a delivery is posted as exactly this embed. */
export const posts = (name: string, event: string, payload: unknown, embed: Embed): void => {
  it(`${event}: ${name}`, () => expect(embedOf(event, payload)).to.deep.equal(embed));
};

/** `posts` for one code host: adds what the host sends with every event to the payload, and the sender to the embed as its author. */
const postsOf =
  (host: object, author: NonNullable<Embed['author']>) =>
  (name: string, event: string, payload: object, embed: Embed): void =>
    posts(name, event, { ...host, ...payload }, { author, ...embed });
/** `posts` for GitHub. */
export const onGithub = postsOf(github, githubAuthor);
/** `posts` for Gitea and Forgejo. */
export const onGitea = postsOf(gitea, giteaAuthor);
/** `posts` for Gogs. */
export const onGogs = postsOf(gogs, gogsAuthor);

/** Declares the test that a delivery is posted, and that its embed includes these fields. */
export const shows = (name: string, event: string, payload: unknown, part: Partial<Embed>): void => {
  it(`${event}: ${name}`, () => expect(embedOf(event, payload)).to.deep.include(part));
};

/** Declares the test that a delivery posts nothing, and that the webhook's log gives this reason. */
export const ignores = (name: string, event: string, payload: unknown, ignored: string, action: string | null = null): void => {
  it(`${event}: ${name}`, () => expect(parseDelivery(event, payload)).to.deep.equal({ action, ignored }));
};

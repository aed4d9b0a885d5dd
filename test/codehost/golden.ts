import { expect } from 'chai';
import { checkFit } from '../../lib/contract/check.ts';
import { Embed } from '../../lib/contract/message.ts';
import { checkEmbeds } from '../../lib/domain/messages/message-draft.ts';
import { type Facts, readDelivery, renderDelivery } from '../../lib/domain/webhooks/codehost/index.ts';

/** A delivery's embed, by way of its facts as they are stored; says when they are too large or the embed is none. */
export function embedOf(event: string, payload: unknown): Embed {
  const reading = readDelivery(event, payload);
  if (!('facts' in reading)) throw new Error(`ignored: ${reading.ignored}`);
  const stored = JSON.stringify(reading.facts);
  expect(Buffer.byteLength(stored), 'bytes of facts').to.be.at.most(16_000);
  const embed = renderDelivery(JSON.parse(stored) as Facts);
  checkFit(Embed, embed, 'body');
  expect(checkEmbeds([embed])).to.deep.equal([embed]);
  return embed;
}

/** The test that a delivery is posted as just this embed. */
export const posts = (name: string, event: string, payload: unknown, embed: Embed): void => {
  it(`${event}: ${name}`, () => expect(embedOf(event, payload)).to.deep.equal(embed));
};

/** The test that a delivery is posted, and that its embed holds at least this. */
export const shows = (name: string, event: string, payload: unknown, part: Partial<Embed>): void => {
  it(`${event}: ${name}`, () => expect(embedOf(event, payload)).to.deep.include(part));
};

/** The test that a delivery posts nothing, and what its webhook's log says. */
export const ignores = (name: string, event: string, payload: unknown, ignored: string, action: string | null = null): void => {
  it(`${event}: ${name}`, () => expect(readDelivery(event, payload)).to.deep.equal({ action, ignored }));
};

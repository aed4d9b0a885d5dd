import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Described, ObjectOf } from './schemas.ts';
import { Link, Timestamp } from './shared.ts';

const authorName = Type.String({
  minLength: 1,
  maxLength: limits.embedAuthorChars,
  description: `The name: 1 to ${limits.embedAuthorChars} characters.`,
  examples: ['Ada Lovelace'],
});
const authorProperties = {
  name: authorName,
  url: Type.Optional(Described(Link, 'The link that the name opens.')),
  iconUrl: Type.Optional(Described(Link, 'The address of a picture beside the name.', 'https://example.org/ada.png')),
};

/** The author line of an embed. */
export const EmbedAuthor = ObjectOf(authorProperties, 'The line above the title of an embed.');

/** The footer of an embed. */
export const EmbedFooter = ObjectOf(
  {
    text: Type.String({
      minLength: 1,
      maxLength: limits.embedFooterChars,
      description: `The text: 1 to 2,048 characters.`,
      examples: ['Updated every hour'],
    }),
  },
  'The line at the end of an embed.',
);

const imageUrl = Described(Link, 'The address of the image.', 'https://example.org/chart.png');

/** An image of an embed. */
export const EmbedImage = ObjectOf({ url: imageUrl }, 'An image of an embed.');

/** A field of an embed. */
export const EmbedField = ObjectOf(
  {
    name: Type.String({
      minLength: 1,
      maxLength: limits.embedFieldNameChars,
      description: `The heading: 1 to ${limits.embedFieldNameChars} characters.`,
      examples: ['Temperature'],
    }),
    value: Type.String({
      minLength: 1,
      maxLength: limits.embedFieldValueChars,
      description: 'The text: 1 to 1,024 characters.',
      examples: ['21 °C'],
    }),
    inline: Type.Optional(Type.Boolean({ description: 'Whether the field may stand beside others. Default: false.', examples: [true] })),
  },
  'A field of an embed: a heading and a text.',
);

/** A rich embed and its limits (docs/behavior/messages.md#embeds). `checkEmbeds` checks the limit of the whole embed (6,000 characters). */
export const Embed = ObjectOf(
  {
    title: Type.Optional(
      Type.String({
        maxLength: limits.embedTitleChars,
        description: `The title, up to ${limits.embedTitleChars} characters.`,
        examples: ['Weather in London'],
      }),
    ),
    description: Type.Optional(
      Type.String({
        maxLength: limits.embedDescriptionChars,
        description: 'The text, up to 4,096 characters. It can be formatted like a message.',
        examples: ['Sunny, with a light wind.'],
      }),
    ),
    url: Type.Optional(Described(Link, 'The link that the title opens.', 'https://example.org/weather')),
    color: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 0xffffff,
        description: 'The color of the edge as a number: red times 65,536, green times 256, and blue.',
        examples: [3447003],
      }),
    ),
    timestamp: Type.Optional(Described(Timestamp, 'A date and time to show, in ISO 8601 with a zone. It is stored in UTC.')),
    author: Type.Optional(Described(EmbedAuthor, 'The line above the title.')),
    footer: Type.Optional(Described(EmbedFooter, 'The line at the end.')),
    image: Type.Optional(Described(EmbedImage, 'A large image below the text.')),
    thumbnail: Type.Optional(Described(EmbedImage, 'A small image beside the text.')),
    fields: Type.Optional(
      Type.Array(EmbedField, {
        maxItems: limits.embedFields,
        description: `Fields with a heading and a text each, at most ${limits.embedFields}.`,
      }),
    ),
  },
  'A rich embed. All its texts together have at most 6,000 characters. It needs visible text, an image, a thumbnail or a timestamp.',
  { author: undefined, image: undefined, thumbnail: undefined },
);
export type Embed = Static<typeof Embed>;

const ProxyUrl = Type.String({
  description: 'The same image on the own origin of the service, where a client should load it from.',
  examples: ['http://localhost:8080/images/5d41402abc4b2a76b9719d911017c592/aHR0cHM6Ly9leGFtcGxlLm9yZy8'],
});

/** The author line of an embed in a response. */
export const EmbedAuthorView = ObjectOf(
  {
    ...authorProperties,
    proxyIconUrl: Type.Optional(
      Described(ProxyUrl, 'The picture of `iconUrl` on the own origin of the service, where a client should load it from.'),
    ),
  },
  'The line above the title of an embed.',
);

/** An image of an embed in a response. */
export const EmbedImageView = ObjectOf({ url: imageUrl, proxyUrl: ProxyUrl }, 'An image of an embed, with its address on the own origin.');

/** An embed in a response: each image also has a URL on the service's own origin. In a request these fields are ignored. */
export const EmbedView = ObjectOf(
  {
    ...Embed.properties,
    author: Type.Optional(Described(EmbedAuthorView, 'The line above the title.')),
    image: Type.Optional(Described(EmbedImageView, 'A large image below the text.')),
    thumbnail: Type.Optional(Described(EmbedImageView, 'A small image beside the text.')),
  },
  'An embed of a message: one that the author sent, or the preview of a link.',
  { author: undefined, image: undefined, thumbnail: undefined },
);
export type EmbedView = Static<typeof EmbedView>;

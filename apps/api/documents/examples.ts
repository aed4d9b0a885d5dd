import type { TSchema } from 'typebox';

/** Example values by the name of the property, where a value of the right type alone would say little. */
const valuesByName: Record<string, unknown> = {
  id: '1234567890123456789',
  channelId: '1234567890123456790',
  serverId: '1234567890123456780',
  messageId: '1234567890123456791',
  userId: '1234567890123456792',
  ownerId: '1234567890123456792',
  roleId: '1234567890123456793',
  applicationId: '1234567890123456788',
  readMessageId: '1234567890123456791',
  content: 'Hello!',
  name: 'general',
  username: 'ada',
  displayName: 'Ada Lovelace',
  topic: 'Anything goes.',
  color: '#3366ff',
  emoji: '👍',
  customStatus: 'Writing a bot',
  password: 'correct horse battery',
  newPassword: 'battery staple correct',
  code: 'hT8xY2kQ',
  url: 'https://example.org/',
  description: 'Everything about dice.',
  tag: 'bot',
  token: '<token>',
  type: 'string',
  avatarUrl: null,
  iconUrl: null,
  parentId: null,
  editedAt: null,
  autoArchiveMinutes: null,
  archived: null,
  threadOwnerId: null,
  threadStarterId: null,
  messageCount: null,
  messageRetentionDays: null,
  mentions: [],
  mentionRoles: [],
  attachments: [],
  embeds: [],
  reactions: [],
  overwrites: [],
};

interface SchemaKeywords {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  examples?: readonly unknown[];
  anyOf?: readonly TSchema[];
  oneOf?: readonly TSchema[];
  allOf?: readonly TSchema[];
  properties?: Record<string, TSchema>;
  required?: readonly string[];
  items?: TSchema;
  format?: string;
  pattern?: string;
  minimum?: number;
  /** What the documents show instead (`DocumentedAs`). */
  '~documented'?: TSchema;
}

/** Whether a value has the type that a schema names. A choice may allow any type. */
function fits(value: unknown, { type, properties, anyOf, oneOf, allOf }: SchemaKeywords): boolean {
  if (properties) return false;
  if (anyOf || oneOf || allOf) return true;
  if (value === null) return type === 'null';
  return Array.isArray(value) ? type === 'array' : type === typeof value;
}

/**
 * An example of a value of `schema`: its own example if it has one, else one made from its parts. Of an object it has the required properties, and the server
 * if there is one. If none is required, it has all.
 */
export function createExample(schema: TSchema, name = ''): unknown {
  const keywords = schema as SchemaKeywords;
  if (keywords['~documented']) return createExample(keywords['~documented'], name);
  const { examples, properties, items } = keywords;
  if (examples) return examples[0];
  if ('const' in keywords) return keywords.const;
  if (keywords.enum) return keywords.enum[0];
  if (name in valuesByName && fits(valuesByName[name], keywords)) return valuesByName[name];
  const [choice] = keywords.anyOf ?? keywords.oneOf ?? keywords.allOf ?? [];
  if (choice) return createExample(choice, name);
  if (properties) {
    const { required = [] } = keywords;
    const shown = Object.entries(properties).filter(([key]) => required.length === 0 || required.includes(key) || key === 'serverId');
    return Object.fromEntries(shown.map(([key, property]) => [key, createExample(property, key)]));
  }
  switch (keywords.type) {
    case 'array':
      return items ? [createExample(items, 'id')] : [];
    case 'integer':
    case 'number':
      return keywords.minimum ?? 1;
    case 'boolean':
      return false;
    case 'string':
      return keywords.format === 'date-time' ? '2026-01-31T12:00:00.000Z' : keywords.pattern?.includes('{19}') ? valuesByName.id : 'text';
    case 'object':
      return {};
    default:
      return null;
  }
}

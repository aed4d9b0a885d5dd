type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const without = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? Object.fromEntries(Object.entries(value).filter(([one]) => one !== name)) : value;

/** The parts of an embed to which the API adds an address of its own. */
const added: Readonly<Record<string, string>> = { image: 'proxyUrl', thumbnail: 'proxyUrl', author: 'proxyIconUrl' };

function toInput(embed: unknown): unknown {
  if (!isObject(embed)) return embed;
  return Object.fromEntries(Object.entries(embed).map(([name, value]) => [name, without(value, added[name] ?? '')]));
}

/** A body whose embeds lack the addresses that the API adds, so that the embeds of a received message can be sent as they are. */
export function withoutServerFields(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body.embeds)) return body;
  return { ...body, embeds: body.embeds.map(toInput) };
}

type SettingName = 'PARLANCE_TOKEN' | 'PARLANCE_URL';

/** A setting from the environment; undefined in browsers. */
function readSetting(name: SettingName): string | undefined {
  const { process: node } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return node?.env?.[name] || undefined;
}

/** What a setting is called in an error: by the name that it was set with. */
const toName = (given: string | undefined, option: string, variable: SettingName): string =>
  given === undefined ? variable : `\`${option}\` of the Client`;

/** The address of the installation, without a slash at the end. Throws if it is none. An address of the API, which ends with `/api`, is understood. */
export function readUrl(given: string | undefined): string {
  const name = toName(given, 'url', 'PARLANCE_URL');
  const text = (given ?? readSetting('PARLANCE_URL') ?? 'http://localhost:8080').trim();
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new TypeError(`${name} must be an address that begins with http:// or https://, such as http://localhost:8080.`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') throw new TypeError(`${name} must not have a username or password.`);
  if (url.search !== '' || url.hash !== '') throw new TypeError(`${name} must end with the host or the path, without "?" and "#".`);
  return url.href
    .replace(/\/+$/, '')
    .replace(/\/api$/, '')
    .replace(/\/+$/, '');
}

/** The bot's token without the white space around it, such as the line end of a file. Undefined without one. Throws if no header could have it. */
export function readToken(given: string | undefined): string | undefined {
  const token = (given ?? readSetting('PARLANCE_TOKEN'))?.trim().replace(/^Bot\s+/, '');
  if (token && !/^[\x21-\x7e]+$/.test(token))
    throw new TypeError(`${toName(given, 'token', 'PARLANCE_TOKEN')} has white space or other characters in it that a token cannot have.`);
  return token || undefined;
}

/** Reports something that no listener takes. */
export function report(kind: 'error' | 'warning', what: unknown): void {
  if (kind === 'error') console.error(what);
  else console.warn(what);
}

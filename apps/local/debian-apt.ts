import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** One archive from this machine's apt sources. */
export interface AptSource {
  uri: string;
  suites: string[];
  components: string[];
  /** The key file that apt checks the archive with; if absent, apt uses its own trusted keys. */
  signedBy?: string;
}

/** The Debian suite to take packages from if the mirror has it. */
const preferredSuite = 'forky';
const keyrings = ['/usr/share/keyrings/debian-archive-keyring.gpg', '/usr/share/keyrings/debian-archive-keyring.pgp'];

/**
 * apt settings for a separate environment in `folder`, for `arch`. apt then changes nothing on the machine and runs none of its hooks, but keeps its proxy and
 * retry settings. Works without root.
 */
export async function aptConfig(folder: string, arch: string): Promise<string> {
  const dump = await promisify(execFile)('apt-config', ['dump']).catch(() => ({ stdout: '' }));
  const network = dump.stdout.split('\n').filter((line) => /^Acquire::(https?|ftp|Retries|Check-Valid-Until|Max-FutureTime)\b/.test(line));
  return `${[
    ...network,
    `Dir::State "${folder}";`,
    `Dir::State::lists "${folder}/lists";`,
    `Dir::State::status "${folder}/status";`,
    `Dir::Cache "${folder}/cache";`,
    `Dir::Log "${folder}";`,
    `Dir::Etc::sourcelist "${folder}/sources.list";`,
    ...['sourceparts', 'preferences', 'preferencesparts', 'parts', 'main'].map((name) => `Dir::Etc::${name} "/dev/null";`),
    `APT::Architecture "${arch}";`,
    `APT::Architectures { "${arch}"; };`,
    'APT::Install-Recommends "false";',
    'APT::Sandbox::User "root";',
    'Acquire::Languages "none";',
  ].join('\n')}\n`;
}

/**
 * The `deb` lines to try, best first: the preferred suite on each Debian mirror that the machine uses, then the machine's own suite. Reads both formats of apt
 * sources below `etc` (default `/etc`). Empty if the machine has no mirror.
 */
export async function aptSources(etc = '/etc'): Promise<string[]> {
  const codename = /^VERSION_CODENAME="?([\w-]+)/m.exec(await readFile(join(etc, 'os-release'), 'utf8').catch(() => ''))?.[1];
  const known = await knownSources(join(etc, 'apt'));
  const archives = known.filter((source) => source.components.includes('main') && source.suites.some((suite) => !suite.includes('-')));
  const own = archives.filter((source) => codename && source.suites.includes(codename));
  const line = async (source: AptSource, suite: string) => {
    const keys = await firstFile([...(source.signedBy ? [source.signedBy] : []), ...keyrings]);
    return `deb ${keys ? `[signed-by=${keys}] ` : ''}${source.uri} ${suite} main`;
  };
  const lines: string[] = [];
  for (const source of own.length > 0 ? own : archives) lines.push(await line(source, preferredSuite));
  for (const source of own) if (codename) lines.push(await line(source, codename));
  return [...new Set(lines)];
}

async function knownSources(folder: string): Promise<AptSource[]> {
  const parts = await readdir(join(folder, 'sources.list.d')).catch(() => []);
  const files = ['sources.list', ...parts.sort((a, b) => (a < b ? -1 : 1)).map((name) => join('sources.list.d', name))];
  const sources: AptSource[] = [];
  for (const name of files) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    if (name.endsWith('.sources')) sources.push(...parseStanzas(text));
    else if (name.endsWith('.list')) sources.push(...parseLines(text));
  }
  return sources;
}

/** Reads the sources of a `.sources` file (deb822 stanzas); skips disabled ones and source packages. */
export function parseStanzas(text: string): AptSource[] {
  const sources: AptSource[] = [];
  for (const stanza of text.split(/\n\s*\n/)) {
    const fields = new Map<string, string>();
    const unfolded = stanza.replace(/^#.*\n?/gm, '').replace(/\n[ \t]+/g, ' ');
    for (const line of unfolded.split('\n')) {
      const match = /^([\w-]+):\s*(.*)$/.exec(line);
      if (match?.[1]) fields.set(match[1].toLowerCase(), (match[2] ?? '').trim());
    }
    const words = (name: string) => (fields.get(name) ?? '').split(/\s+/).filter(Boolean);
    if (!words('types').includes('deb') || /^(no|false)$/i.test(fields.get('enabled') ?? '')) continue;
    const key = fields.get('signed-by');
    for (const uri of words('uris'))
      sources.push({ uri, suites: words('suites'), components: words('components'), ...(key?.startsWith('/') ? { signedBy: key } : {}) });
  }
  return sources;
}

/** Reads the sources of a `.list` file (one per line); skips comments and source packages. */
export function parseLines(text: string): AptSource[] {
  const sources: AptSource[] = [];
  for (const line of text.split('\n')) {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line);
    if (!match?.[2] || !match[3]) continue;
    const key = /(?:^|\s)signed-by=(\/[^\s,]+)/i.exec(match[1] ?? '')?.[1];
    const components = (match[4] ?? '').split(/\s+/).filter(Boolean);
    sources.push({ uri: match[2], suites: [match[3]], components, ...(key ? { signedBy: key } : {}) });
  }
  return sources;
}

async function firstFile(paths: string[]): Promise<string | undefined> {
  for (const path of paths)
    if (
      await stat(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  return undefined;
}

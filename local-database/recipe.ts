import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { postgisControl, postgisSql } from './postgis.ts';

/** Packages that only maintainer scripts, systemd units, geo functions or other front ends need; the server runs without them. */
const omittedPackages = [
  'postgresql-common',
  'postgresql-client-common',
  'ssl-cert',
  'tzdata',
  'locales',
  'debconf',
  'perl',
  'perl-base',
  'libpam-modules',
  'libpam-runtime',
  'libsasl2-modules-db',
  'libc-bin',
  'systemd',
  'systemd-standalone-sysusers',
  'procps',
  'adduser',
];
const modules = /^(pg_documentdb(_core|_extended_rum.*)?|pg_cron|vector|tsm_system_rows|plpgsql|dict_snowball)\.so$/;
const extensions = /^(documentdb(?!_distributed)|pg_cron|vector|tsm_system_rows|plpgsql)/;

/**
 * How to make the PostgreSQL + DocumentDB runtime from Debian packages, with the newest PostgreSQL that the extension is packaged for. `plan` throws if
 * `available` has no such package.
 */
export const documentdbRecipe = {
  id: 'documentdb-1',
  prefix: 'postgresql-',
  plan: (available: readonly string[]) => {
    const majors = available.map((name) => Number(/^postgresql-(\d+)-documentdb$/.exec(name)?.[1] ?? 0));
    const major = Math.max(0, ...majors);
    if (major === 0) throw new Error('the mirror has no postgresql-*-documentdb package');
    const home = `lib/postgresql/${major}`;
    const share = `share/postgresql/${major}/`;
    return {
      install: [`postgresql-${major}`, `postgresql-${major}-documentdb`],
      pretend: [...omittedPackages, `postgresql-${major}-postgis-3`, `postgresql-${major}-rum`],
      keep: (path: string) => {
        if (path === `${home}/bin/postgres` || path === `${home}/bin/initdb`) return true;
        if (path.startsWith(`${home}/lib/`)) return modules.test(path.slice(home.length + 5));
        if (/^share\/doc\/[^/]+\/copyright$/.test(path)) return true;
        if (!path.startsWith(share)) return false;
        const name = path.slice(share.length);
        return name.startsWith('extension/') ? extensions.test(name.slice(10)) : !/^(contrib|man)\//.test(name);
      },
      programs: [`${home}/bin/postgres`, `${home}/bin/initdb`],
      modules: `${home}/lib`,
      files: { [`${share}extension/postgis.control`]: postgisControl, [`${share}extension/postgis--0.sql`]: postgisSql },
    };
  },
};

/** Folders of an unpacked runtime. */
export interface RuntimeLayout {
  /** The major version of PostgreSQL; its data can only be used with the same one. */
  major: string;
  postgres: string;
  initdb: string;
  extensions: string;
}

/** The paths of the programs and the extension files of the runtime in `folder`. Throws if the folder contains no runtime. */
export function runtimeLayout(folder: string): RuntimeLayout {
  const home = join(folder, 'lib/postgresql');
  const major = readdirSync(home)[0];
  if (!major) throw new Error(`no PostgreSQL in ${folder}`);
  const bin = join(home, major, 'bin');
  return {
    major,
    postgres: join(bin, 'postgres'),
    initdb: join(bin, 'initdb'),
    extensions: join(folder, 'share/postgresql', major, 'extension'),
  };
}

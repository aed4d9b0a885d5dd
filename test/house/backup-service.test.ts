import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { load } from './compose.ts';

describe('the service backup of docker-compose.yml', () => {
  const { backup, api } = load().services;
  const script = backup?.command?.at(-1) ?? '';

  it('makes backups of the stores of the roles into its own volume, if its profile is chosen', () => {
    expect(backup?.profiles).to.deep.equal(['backup']);
    expect(backup?.volumes?.join()).to.match(/\$\{BACKUP_FOLDER:-backups\}:\/srv\/parlance\/backups$/);
    expect(script).to.contain('node dist/apps/operator/main.js backup --keep "$$BACKUP_KEEP" /srv/parlance/backups');
    for (const name of ['MONGODB_URL', 'APP_KEY']) expect(backup?.environment?.[name], name).to.equal(api?.environment?.[name]);
  });

  it('is unhealthy if its last backup failed', () => {
    expect(script).to.match(/then rm -f (\S+); else touch \1; fi/);
    expect(backup?.healthcheck?.test.slice(1)).to.deep.equal(['test', '!', '-e', /touch (\S+);/.exec(script)?.[1]]);
  });

  it('has its settings, with their defaults, in docs/operations/backups.md', () => {
    const page = readFileSync('docs/operations/backups.md', 'utf8');
    const rows = [...page.matchAll(/^\| `(BACKUP_\w+)` \| `(\w+)`/gm)].map(([, name, value]) => `\${${name}:-${value}}`);
    const used = JSON.stringify(backup).match(/\$\{BACKUP_\w+:-\w+\}/g) ?? [];
    expect(rows.toSorted()).to.deep.equal(used.toSorted());
  });
});

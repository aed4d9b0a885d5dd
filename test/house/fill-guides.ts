import { readFileSync, writeFileSync } from 'node:fs';
import { fillFences, guideFiles, guidesFolder } from './guides.ts';

/*
 * `npm run guides`: writes the programs of `docs/guides/code` into the guides that show them.
 */
for (const file of guideFiles) {
  const path = `${guidesFolder}/${file}`;
  writeFileSync(path, fillFences(readFileSync(path, 'utf8')));
}

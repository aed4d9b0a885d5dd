import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateKits } from './kits.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

for (const [file, source] of generateKits()) {
  mkdirSync(dirname(root + file), { recursive: true });
  writeFileSync(root + file, source);
}

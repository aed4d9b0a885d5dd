import { existsSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Makes a folder in which programs of developers run: with the JavaScript kit of the last `npm run build`, and `ws`. */
export function makeKitFolder(): string {
  const kit = resolve('dist/kits/javascript');
  if (!existsSync(join(kit, 'package.json'))) throw new Error('The kits are not built. Run `npm run build`.');
  const folder = mkdtempSync(join(tmpdir(), 'parlance-kit-'));
  mkdirSync(join(folder, 'node_modules/@parlance'), { recursive: true });
  symlinkSync(kit, join(folder, 'node_modules/@parlance/bot'));
  symlinkSync(resolve('node_modules/ws'), join(folder, 'node_modules/ws'));
  return folder;
}

/** The environment of a program in Python: where its kit is, and that it prints at once. */
export const pythonKitEnv = { PYTHONPATH: resolve('sdk/python'), PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' };

/**
 * Packs the kit as a wheel, without Python: `node sdk/python/wheel.mjs <folder>`. The same sources always give the same bytes.
 */
import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { ZipFile } from 'yazl';

const root = fileURLToPath(new URL('.', import.meta.url));
const readBytes = (path) => readFileSync(join(root, path));
const readText = (path) => readBytes(path).toString('utf8');
const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: node sdk/python/wheel.mjs <folder>');

const project = readText('pyproject.toml');
const valueOf = (key) => new RegExp(`^${key} = "(.*)"$`, 'm').exec(project)?.[1];
const dependencies = JSON.parse(/^dependencies = (\[.*\])$/m.exec(project)?.[1] ?? '[]');
const version = /^VERSION = "(.*)"$/m.exec(readText('parlance/version.py'))?.[1];
const name = valueOf('name');
if (!name || !version) throw new Error('pyproject.toml has no name, or version.py has no version');

const metadata = `Metadata-Version: 2.1
Name: ${name}
Version: ${version}
Summary: ${valueOf('description')}
License: MIT
Requires-Python: ${valueOf('requires-python')}
${dependencies.map((one) => `Requires-Dist: ${one}\n`).join('')}License-File: LICENSE
Description-Content-Type: text/markdown

${readText('README.md')}`;
const info = `${name}-${version}.dist-info`;
const modules = readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
  .map((file) => `${name}/${file.replaceAll('\\', '/')}`)
  .filter((path) => /\.py$|\/py\.typed$/.test(path))
  .sort();
const files = [
  ...modules.map((path) => [path, readBytes(path)]),
  [`${info}/LICENSE`, readBytes('LICENSE')],
  [`${info}/METADATA`, Buffer.from(metadata)],
  [`${info}/WHEEL`, Buffer.from('Wheel-Version: 1.0\nGenerator: parlance\nRoot-Is-Purelib: true\nTag: py3-none-any\n')],
];
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('base64url');
const record = files.map(([path, bytes]) => `${String(path)},sha256=${sha256(bytes)},${bytes.length}\n`);
files.push([`${info}/RECORD`, Buffer.from(`${record.join('')}${info}/RECORD,,\n`)]);

const zip = new ZipFile();
// A fixed time without a time zone, which zip files do not have.
for (const [path, bytes] of files) zip.addBuffer(bytes, path, { mtime: new Date(2020, 0, 1), mode: 0o100644, forceDosTimestamp: true });
zip.end();
mkdirSync(folder, { recursive: true });
await pipeline(zip.outputStream, createWriteStream(join(folder, `${name}-${version}-py3-none-any.whl`)));

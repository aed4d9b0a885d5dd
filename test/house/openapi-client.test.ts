import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { renderOpenApi } from '../../apps/api/documents/openapi.ts';
import { routes } from '../../apps/api/routes/index.ts';

/** A program that uses the generated client. The lines below `@ts-expect-error` must not compile. */
const program = `
import { ok } from '@oazapfts/runtime';
import { addReaction, createMessage, defaults, type ErrorCode, listMessages, type Message } from './api.ts';
defaults.headers = { Authorization: 'Bot token' };
const channelId = '1234567890123456789';
const { id, content }: Message = await ok(createMessage(channelId, { content: 'Hello!' }, { idempotencyKey: 'a' }));
await addReaction(channelId, id, encodeURIComponent(content));
const refused = await createMessage(channelId, {});
if (refused.status === 403) {
  const code: ErrorCode | undefined = refused.data.code;
  console.error(code);
}
await listMessages(channelId, { limit: 50 });
// @ts-expect-error: not a field of a message
await createMessage(channelId, { text: 'Hello!' });
// @ts-expect-error: not one of the error codes
const unknown: ErrorCode = 'no_such_code';
`;

describe('OpenAPI document: a generated client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-client-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const run = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return status === 0 ? '' : stdout + stderr;
  };

  it('is generated, and compiles with a program that uses it', () => {
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(renderOpenApi(routes, 'https://chat.test')));
    writeFileSync(join(folder, 'program.ts'), program);
    expect(run(resolve('node_modules/oazapfts/dist/cli.js'), 'openapi.json', 'api.ts')).to.equal('');
    const compilerOptions = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', allowImportingTsExtensions: true };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    expect(run(resolve('node_modules/typescript/bin/tsc'))).to.equal('');
  });
});

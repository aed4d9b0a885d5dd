import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const script = fileURLToPath(new URL('closing-process.ts', import.meta.url));

describe('closing the platforms of all roles while Redis is down', () => {
  it('ends the process without an error, whether they have noticed it, not yet, or were still connecting', async () => {
    const child = spawn(process.execPath, ['--import=tsx', script], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 170_000 });
    const [output, errors, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect([output, errors, code, signal]).to.deep.equal(['seen unseen early ', '', 0, null]);
  });
});

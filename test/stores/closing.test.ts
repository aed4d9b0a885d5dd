import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const script = fileURLToPath(new URL('closing-process.ts', import.meta.url));

describe('closing all that every role opens, while Redis is away', function () {
  this.timeout(180_000); // a process starts, and a worker that lost Redis looks for it once in 5 s
  for (const when of ['seen', 'unseen', 'early'])
    it(`ends, and nothing goes on or complains (${when})`, async () => {
      const child = spawn(process.execPath, ['--import=tsx', script, when], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 170_000 });
      const [said, complained, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
      expect([said, complained, code, signal]).to.deep.equal(['closed', '', 0, null]);
    });
});

import { ApiError, apiClient } from './api-client.ts';
import { readArguments } from './command-line.ts';
import { dataFolder, readRunningEnv } from './data-folder.ts';
import { readDemo } from './demo-notes.ts';
import { loginLink } from './login-link.ts';

/*
 * `npm run link`: prints a new link that logs the demo person in, if `npm start` runs from the same folder.
 */
readArguments(
  `Usage: npm run link

Prints a new link that logs the demo person in, while \`npm start\` runs from the same folder (DATA_DIR, default: .data).
`,
  { options: {} },
);
const folder = dataFolder();
const running = await readRunningEnv(folder);
const { person, server } = readDemo(folder);

const fail = (line: string, code: number): void => {
  process.stderr.write(`${line}\n`);
  process.exitCode = code;
};

if (!running || !person || !('token' in person)) fail(`Parlance is not running from ${folder}. Start it with \`npm start\`.`, 69);
else
  try {
    const call = apiClient(`http://localhost:${running.PORT}`, `Bearer ${person.token}`);
    process.stdout.write(`${await loginLink(call, running.BASE_URL ?? '', server)}\n`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401)
      fail('The demo person was logged out. Restart `npm start` to log them in again.', 1);
    else fail(`The API does not respond (${(error as Error).message}).`, 69);
  }

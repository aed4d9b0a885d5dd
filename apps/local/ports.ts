import { createServer, type Server } from 'node:net';
import { UserFacingError } from './terminal.ts';

/** A port that a role will listen on, and the environment variable that changes it. */
export interface WantedPort {
  variable: string;
  port: number;
}

/** Checks the ports of `host` before anything starts. Throws one `UserFacingError` that names every unavailable port and the variable to set. */
export async function checkPorts(wanted: readonly WantedPort[], host = '127.0.0.1'): Promise<void> {
  // All ports stay bound until the last one was tried, so two roles on one port are also detected.
  const held = await Promise.all(wanted.map(({ port }) => hold(port, host)));
  const problems = wanted.flatMap(({ variable, port }, index) => {
    const code = held[index]?.code;
    if (!code) return [];
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${code})`;
    return [`Port ${port} ${why}. Choose another: ${variable}=${port + 1000 > 65_535 ? port - 1000 : port + 1000} npm start`];
  });
  for (const { server } of held) if (server) await new Promise((done) => server.close(done));
  if (problems.length) throw new UserFacingError(problems.join('\n'));
}

function hold(port: number, host: string): Promise<{ server?: Server; code?: string }> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => done({ code: error.code ?? error.message }));
    server.listen(port, host, () => done({ server }));
  });
}

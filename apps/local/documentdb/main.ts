import { startWireGateway } from './server.ts';

/*
 * The gateway as a process of its own: `main.ts <socketDir> <port>`. Ends with SIGTERM; its parent keeps it bound to its own life.
 */
const [socketDir, port] = process.argv.slice(2);
if (!socketDir || !port) {
  process.stderr.write('usage: main <socketDir> <port>\n');
  process.exit(2);
}
process.title = 'parlance-documentdb';
const gateway = await startWireGateway({ socketDir, port: Number(port) });
process.once('SIGTERM', () => {
  gateway.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});

import { startWireGateway } from './server.ts';

/*
 * The gateway as a separate process: `main.ts <socketDir> <path>`, where `path` is the unix socket it listens on. SIGTERM stops it. Its parent makes sure that
 * it ends when the parent does.
 */
const [socketDir, path] = process.argv.slice(2);
if (!socketDir || !path) {
  process.stderr.write('usage: main <socketDir> <path>\n');
  process.exit(2);
}
process.title = 'parlance-documentdb';
const gateway = await startWireGateway({ socketDir, path });
process.once('SIGTERM', () => {
  gateway.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});

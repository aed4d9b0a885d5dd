/**
 * Health check of one container: `node deploy/health.mjs <url>`. An http URL must answer 200, a ws URL must say hello (op 10).
 * Ends with 0 when healthy, 1 otherwise. Needs nothing but Node 22 or newer.
 */
const [url = ''] = process.argv.slice(2);
const limitMs = 4000;

const fail = (reason) => {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
};
setTimeout(() => fail(`no answer within ${limitMs} ms`), limitMs);

if (url.startsWith('ws')) {
  const socket = new WebSocket(url);
  socket.addEventListener('error', () => fail('cannot connect'));
  socket.addEventListener('close', () => fail('closed before hello'));
  socket.addEventListener('message', ({ data }) => process.exit(JSON.parse(data).op === 10 ? 0 : 1));
} else {
  const answer = await fetch(url).catch((fault) => fail(String(fault.cause ?? fault)));
  if (answer.status !== 200) fail(`status ${answer.status}`);
  process.exit(0);
}

import { quoted, type Sample, type SampleFacts } from './sample.ts';

/** A bot in JavaScript that keeps a connection to the gateway open, registers `/hello` and answers it. Runs on Node.js 20 with the package `ws`. */
export const javascriptGateway = ({ base, applicationId }: SampleFacts): Sample => ({
  file: 'bot.mjs',
  install: 'npm i ws',
  run: 'node bot.mjs',
  secret: 'BOT_TOKEN',
  code: `import WebSocket from 'ws';

const base = ${quoted(base)};
const applicationId = ${quoted(applicationId)};
const token = process.env.BOT_TOKEN;
if (!token) throw new Error('Set BOT_TOKEN to the token of the bot.');

async function call(method, path, body) {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: 'Bot ' + token, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(method + ' failed with status ' + response.status + ': ' + text);
  return text ? JSON.parse(text) : undefined;
}

// PUT replaces the whole list, so it includes the existing commands.
async function register() {
  const path = '/api/applications/' + applicationId + '/commands';
  const commands = await call('GET', path);
  if (commands.some((command) => command.kind === 'slash' && command.name === 'hello')) return;
  const options = [{ name: 'name', description: 'The name to greet.' }];
  await call('PUT', path, [...commands, { name: 'hello', description: 'Says hello.', options }]);
}

// The first response must be sent within 3 seconds.
async function answer({ id, token: secret, user, data }) {
  if (data.name !== 'hello') return;
  const name = data.options.find((option) => option.name === 'name')?.value ?? user.displayName;
  const content = 'Hello, ' + name + '!';
  await call('POST', '/api/interactions/' + id + '/' + secret + '/callback', { type: 'message', content });
}

// Opens a connection, and returns its close code when it has closed.
async function connect() {
  const { url } = await call('GET', '/api/gateway');
  const socket = new WebSocket(url + '?v=1');
  const send = (op, d) => socket.send(JSON.stringify({ op, d }));
  let seq = null;
  let alive = true;
  let timer;
  socket.on('message', (text) => {
    const { op, d, s, t } = JSON.parse(text);
    if (s !== undefined) seq = s;
    if (op === 10) {
      send(2, { token });
      timer = setInterval(() => {
        if (!alive) return socket.terminate();
        alive = false;
        send(1, seq);
      }, d.heartbeatIntervalMs);
    } else if (op === 11) alive = true;
    else if (op === 1) send(1, seq);
    else if (op === 7 || op === 9) socket.close(4000);
    else if (t === 'READY') console.log('Online as ' + d.user.username + '. Type /hello in a channel.');
    else if (t === 'INTERACTION_CREATE') answer(d).catch((error) => console.error(error.message));
  });
  socket.on('error', (error) => console.error(error.message));
  const code = await new Promise((done) => socket.on('close', done));
  clearInterval(timer);
  return code;
}

await register();
for (;;) {
  const code = await connect().catch((error) => console.error(error.message));
  if (code === 4004) throw new Error('The token is no longer valid.');
  await new Promise((done) => setTimeout(done, 3000));
}
`,
});

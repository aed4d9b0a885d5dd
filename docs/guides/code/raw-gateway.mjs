import WebSocket from 'ws';

const { PARLANCE_URL: base, PARLANCE_TOKEN: token } = process.env;

async function call(method, path, body) {
  const headers = { Authorization: `Bot ${token}`, 'Content-Type': 'application/json' };
  const response = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} failed with status ${response.status}: ${text}`);
  return text ? JSON.parse(text) : undefined;
}

// The first answer must be sent within 3 seconds.
async function answer({ id, token: secret, user, data }) {
  if (data.name !== 'hello') return;
  const content = `Hello, ${user.displayName}!`;
  await call('POST', `/api/interactions/${id}/${secret}/callback`, { type: 'message', content });
}

let session = null;
let seq = null;
let failures = 0;
let waitMs = null;

// Opens a connection, and returns its close code.
async function connect() {
  const url = session?.resumeUrl ?? (await call('GET', '/api/gateway')).url;
  const socket = new WebSocket(`${url}?v=1`, { handshakeTimeout: 10_000 });
  const send = (op, d) => socket.send(JSON.stringify({ op, d }));
  let isAlive = true;
  let timer;
  socket.on('message', (text) => {
    const { op, d, s, t } = JSON.parse(text);
    if (s !== undefined) seq = s;
    if (op === 10) {
      if (session) send(6, { token, sessionId: session.sessionId, seq });
      else send(2, { token });
      timer = setInterval(() => {
        if (!isAlive) return socket.terminate(); // no answer to the last heartbeat
        isAlive = false;
        send(1, session && seq);
      }, d.heartbeatIntervalMs);
    } else if (op === 11) isAlive = true;
    else if (op === 1) send(1, session && seq);
    else if (op === 7) {
      waitMs = d?.retryAfterMs ?? null;
      socket.close(4000); // 1000 and 1001 would end the session
    } else if (op === 9) {
      session = null;
      seq = null;
      socket.close(4000);
    } else if (op === 0) {
      failures = 0;
      if (t === 'READY') session = d;
      if (t === 'READY') console.log(`Online as ${d.user.username}.`);
      if (t === 'RESUMED') console.log(`Resumed with ${d.replayed} events.`);
      if (t === 'INTERACTION_CREATE') answer(d).catch((error) => console.error(error.message));
    }
  });
  socket.on('error', (error) => console.error(error.message));
  const code = await new Promise((done) => socket.on('close', done));
  clearInterval(timer);
  return code;
}

const { applicationId } = await call('GET', '/api/auth/me');
const commands = `/api/applications/${applicationId}/commands`;
const others = (await call('GET', commands)).filter(({ kind, name }) => kind !== 'slash' || name !== 'hello');
await call('PUT', commands, [...others, { name: 'hello', description: 'Says hello.' }]); // this replaces the whole list
for (;;) {
  const code = await connect().catch((error) => console.error(error.message));
  if ([4002, 4004, 4012].includes(code)) throw new Error(`The gateway refused the connection with ${code}.`);
  const pauseMs = waitMs ?? Math.random() * Math.min(60_000, 1_000 * 2 ** failures);
  waitMs = null;
  failures++;
  await new Promise((done) => setTimeout(done, pauseMs));
}

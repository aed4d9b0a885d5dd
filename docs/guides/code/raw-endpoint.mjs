import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = process.env.SIGNING_SECRET;
const port = Number(process.env.PORT ?? 3000);

// The signature covers the timestamp, a dot and the exact bytes of the body. Older requests may be replays.
function isSigned(headers, body) {
  const timestamp = String(headers['x-service-timestamp']);
  const given = Buffer.from(String(headers['x-service-signature']));
  const expected = Buffer.from(createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex'));
  const isRecent = Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
  return isRecent && given.length === expected.length && timingSafeEqual(given, expected);
}

function answer({ type, user, data }) {
  if (type === 'ping') return { type: 'pong' };
  return { type: 'message', content: data.name === 'hello' ? `Hello, ${user.displayName}!` : 'Unknown command.' };
}

const server = createServer(async (request, response) => {
  try {
    const chunks = [];
    let length = 0;
    for await (const chunk of request) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > 1024 * 1024) return request.destroy();
    }
    const body = Buffer.concat(chunks);
    if (!isSigned(request.headers, body)) return response.writeHead(401).end();
    const text = JSON.stringify(answer(JSON.parse(body)));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
  } catch (error) {
    console.error(error.message);
    if (!response.headersSent) response.writeHead(500).end();
  }
});
server.listen(port, () => console.log(`Listening on port ${port}.`));

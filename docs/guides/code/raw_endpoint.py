import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["SIGNING_SECRET"].encode()
PORT = int(os.environ.get("PORT", "3000"))


# The signature covers the timestamp, a dot and the exact bytes of the body. Older requests may be replays.
def is_signed(headers, body):
    timestamp = headers.get("X-Service-Timestamp", "")
    given = headers.get("X-Service-Signature", "")
    expected = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_recent = timestamp.isdecimal() and abs(time.time() - int(timestamp)) <= 300
    return is_recent and hmac.compare_digest(given.encode(), expected.encode())


def answer(request):
    if request["type"] == "ping":
        return {"type": "pong"}
    if request["data"]["name"] != "hello":
        return {"type": "message", "content": "Unknown command."}
    return {"type": "message", "content": f"Hello, {request['user']['displayName']}!"}


class Endpoint(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        if not 0 <= length <= 1024 * 1024:
            return self.send_error(413)
        body = self.rfile.read(length)
        if not is_signed(self.headers, body):
            return self.send_error(401)
        text = json.dumps(answer(json.loads(body))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


print(f"Listening on port {PORT}.", flush=True)
ThreadingHTTPServer(("", PORT), Endpoint).serve_forever()

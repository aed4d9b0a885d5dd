import asyncio
import json
import os
import random
import urllib.error
import urllib.request

import websockets

BASE = os.environ["PARLANCE_URL"]
TOKEN = os.environ["PARLANCE_TOKEN"]


def call(method, path, body=None):
    request = urllib.request.Request(
        BASE + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bot " + TOKEN, "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            text = response.read()
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} failed with status {error.code}: {error.read().decode()}") from None
    return json.loads(text) if text else None


# The first answer must be sent within 3 seconds.
def answer(interaction):
    if interaction["data"]["name"] != "hello":
        return
    path = f"/api/interactions/{interaction['id']}/{interaction['token']}/callback"
    try:
        call("POST", path, {"type": "message", "content": f"Hello, {interaction['user']['displayName']}!"})
    except Exception as error:
        print(error, flush=True)


class Bot:
    session = None
    seq = None
    failures = 0
    wait = None

    # Opens a connection, and returns when it is to be closed.
    async def connect(self):
        gateway = self.session or await asyncio.to_thread(call, "GET", "/api/gateway")
        url = gateway.get("resumeUrl") or gateway["url"]
        async with websockets.connect(url + "?v=1", max_size=16 * 1024 * 1024) as socket:
            beating = None
            try:
                async for text in socket:
                    frame = json.loads(text)
                    self.seq = frame.get("s", self.seq)
                    if frame["op"] == 10:
                        resume = {"token": TOKEN, "sessionId": self.session["sessionId"], "seq": self.seq} if self.session else None
                        await socket.send(json.dumps({"op": 6, "d": resume} if resume else {"op": 2, "d": {"token": TOKEN}}))
                        beating = asyncio.create_task(self.beat(socket, frame["d"]["heartbeatIntervalMs"] / 1000))
                    elif frame["op"] == 1:
                        await self.send_heartbeat(socket)
                    elif frame["op"] == 7:
                        self.wait = (frame["d"] or {}).get("retryAfterMs", 0) / 1000
                        return await socket.close(4000)  # 1000 and 1001 would end the session
                    elif frame["op"] == 9:
                        self.session = self.seq = None
                        return await socket.close(4000)
                    elif frame["op"] == 0:
                        self.receive(frame["t"], frame["d"])
            finally:
                if beating:
                    beating.cancel()

    def receive(self, name, data):
        self.failures = 0
        if name == "READY":
            self.session = data
            print(f"Online as {data['user']['username']}.", flush=True)
        elif name == "RESUMED":
            print(f"Resumed with {data['replayed']} events.", flush=True)
        elif name == "INTERACTION_CREATE":
            asyncio.get_running_loop().run_in_executor(None, answer, data)

    async def send_heartbeat(self, socket):
        await socket.send(json.dumps({"op": 1, "d": self.seq if self.session else None}))

    async def beat(self, socket, seconds):
        while True:
            await asyncio.sleep(seconds)
            await self.send_heartbeat(socket)

    async def run(self):
        application = (await asyncio.to_thread(call, "GET", "/api/auth/me"))["applicationId"]
        path = f"/api/applications/{application}/commands"
        commands = await asyncio.to_thread(call, "GET", path)
        others = [one for one in commands if one["kind"] != "slash" or one["name"] != "hello"]
        hello = {"name": "hello", "description": "Says hello."}
        await asyncio.to_thread(call, "PUT", path, [*others, hello])  # this replaces the whole list
        while True:
            try:
                await self.connect()
            except websockets.ConnectionClosed as error:
                if error.rcvd and error.rcvd.code in (4002, 4004, 4012):
                    raise SystemExit(f"The gateway refused the connection with {error.rcvd.code}.") from None
            except (OSError, RuntimeError, websockets.WebSocketException) as error:
                print(error, flush=True)
            pause = random.uniform(0, min(60, 2**self.failures)) if self.wait is None else self.wait
            self.wait = None
            self.failures += 1
            await asyncio.sleep(pause)


asyncio.run(Bot().run())

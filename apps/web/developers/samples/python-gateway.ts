import { quoted, type Sample, type SampleFacts } from './sample.ts';

/** A bot in Python that keeps a connection to the gateway open, registers `/hello` and answers it. Runs on Python 3.9 with the package `websockets`. */
export const pythonGateway = ({ base, applicationId }: SampleFacts): Sample => ({
  file: 'bot.py',
  install: 'pip install websockets',
  run: 'python3 bot.py',
  secret: 'BOT_TOKEN',
  code: `import asyncio
import json
import os
import urllib.error
import urllib.request

import websockets

BASE = ${quoted(base)}
APPLICATION_ID = ${quoted(applicationId)}
TOKEN = os.environ["BOT_TOKEN"]


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


# PUT replaces the whole list, so it includes the existing commands.
def register():
    path = f"/api/applications/{APPLICATION_ID}/commands"
    commands = call("GET", path)
    if any(command["kind"] == "slash" and command["name"] == "hello" for command in commands):
        return
    options = [{"name": "name", "description": "The name to greet."}]
    call("PUT", path, commands + [{"name": "hello", "description": "Says hello.", "options": options}])


# The first response must be sent within 3 seconds.
def answer(interaction):
    if interaction["data"]["name"] != "hello":
        return
    options = {option["name"]: option["value"] for option in interaction["data"]["options"]}
    name = options.get("name", interaction["user"]["displayName"])
    path = f"/api/interactions/{interaction['id']}/{interaction['token']}/callback"
    try:
        call("POST", path, {"type": "message", "content": f"Hello, {name}!"})
    except Exception as error:
        print(error)


# Opens a connection, and returns when it has closed.
async def connect():
    url = (await asyncio.to_thread(call, "GET", "/api/gateway"))["url"]
    seq = None
    async with websockets.connect(url + "?v=1") as socket:

        async def send(op, d):
            await socket.send(json.dumps({"op": op, "d": d}))

        async def beat(seconds):
            while True:
                await asyncio.sleep(seconds)
                await send(1, seq)

        beating = None
        try:
            async for text in socket:
                frame = json.loads(text)
                seq = frame.get("s", seq)
                if frame["op"] == 10:
                    await send(2, {"token": TOKEN})
                    beating = asyncio.create_task(beat(frame["d"]["heartbeatIntervalMs"] / 1000))
                elif frame["op"] == 1:
                    await send(1, seq)
                elif frame["op"] in (7, 9):
                    return
                elif frame.get("t") == "READY":
                    print(f"Online as {frame['d']['user']['username']}. Type /hello in a channel.", flush=True)
                elif frame.get("t") == "INTERACTION_CREATE":
                    asyncio.get_running_loop().run_in_executor(None, answer, frame["d"])
        finally:
            if beating:
                beating.cancel()


async def main():
    await asyncio.to_thread(register)
    while True:
        try:
            await connect()
        except websockets.ConnectionClosed as error:
            if error.rcvd and error.rcvd.code == 4004:
                raise SystemExit("The token is no longer valid.")
        except (OSError, RuntimeError, websockets.WebSocketException) as error:
            print(error)
        await asyncio.sleep(3)


asyncio.run(main())
`,
});

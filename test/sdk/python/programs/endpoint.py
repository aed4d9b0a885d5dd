"""An Interactions Endpoint: `endpoint.py aiohttp|http.server <port>`."""

import asyncio
import json
import os
import sys
import threading
from http.server import ThreadingHTTPServer

from aiohttp import web

import parlance

bot = parlance.Client(auto_defer=0.3)
released = asyncio.Event()


@bot.command("roll", options={"sides": "How many sides."})
async def roll(interaction: parlance.Interaction, sides: int) -> None:
    """Rolls a die."""
    await interaction.reply(f"one of {sides}")
    await interaction.follow_up("a follow-up right after the answer")
    await interaction.edit_reply("an edited answer")


@bot.command("slow", description="Takes its time.")
async def slow(interaction: parlance.Interaction) -> None:
    await released.wait()
    await interaction.reply("the slow answer")


async def main(kind: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    endpoint = bot.endpoint(os.environ["SIGNING_SECRET"])
    await bot.register_commands()
    if kind == "aiohttp":
        app = web.Application()
        app.router.add_post("/", endpoint.aiohttp)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
    else:
        server = ThreadingHTTPServer(("127.0.0.1", port), endpoint.http_server(loop))
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"listening": port}), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        released.set()
    await bot.stop()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))

"""A bot whose listener is too slow for what is posted, and which has a command. It prints how many messages it has handled."""

import asyncio
import json
import os

import parlance

bot = parlance.Client()
handled = 0


@bot.on_message
async def on_message(message: parlance.Message) -> None:
    global handled
    await asyncio.sleep(float(os.environ["LISTENER_SECS"]))
    handled += 1


@bot.command("ping", description="Answers.")
async def ping(interaction: parlance.Interaction) -> None:
    await interaction.reply(f"pong after {handled}")


@bot.event("ready")
async def on_ready(ready: parlance.Ready) -> None:
    print(json.dumps({"ready": True}), flush=True)


bot.run()

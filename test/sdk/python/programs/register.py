"""Registers the slash commands that its arguments name; with REMOVE, it removes all others."""

import asyncio
import json
import logging
import os
import sys

import parlance

logging.basicConfig(level=logging.INFO)


async def answer(interaction: parlance.Interaction) -> None:
    await interaction.reply("registered")


async def main() -> None:
    async with parlance.Client(remove_other_commands="REMOVE" in os.environ) as bot:
        for name in sys.argv[1:]:
            bot.command(name, description="Is declared.")(answer)
        await bot.register_commands()
    print(json.dumps({"done": True}))


asyncio.run(main())

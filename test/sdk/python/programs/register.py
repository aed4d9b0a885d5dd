"""Registers the commands that its arguments name, such as ``roll``, or ``!roll`` with a prefix; with REMOVE, it removes all others."""

import asyncio
import json
import logging
import os
import sys

import parlance

logging.basicConfig(level=logging.INFO)


async def answer(interaction: parlance.Interaction) -> None:
    await interaction.reply("registered")


async def ignore(message: parlance.Message, text: str) -> None:
    pass


async def main() -> None:
    async with parlance.Client(remove_other_commands="REMOVE" in os.environ) as bot:
        for name in sys.argv[1:]:
            if name[0].isalnum():
                bot.command(name, description="Is declared.")(answer)
            else:
                bot.prefix_command(name[0], name[1:])(ignore)
        await bot.register_commands()
    print(json.dumps({"done": True}))


asyncio.run(main())

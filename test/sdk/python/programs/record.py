"""Prints each event that it receives."""

import asyncio
import json
import os

import parlance
from parlance.models import MemberChange, Message

bot = parlance.Client(max_pending=int(os.environ.get("MAX_PENDING", "1000")))


def write(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


@bot.event("ready")
async def on_ready(ready: parlance.Ready) -> None:
    write(ready=ready.session_id)


@bot.on_message
async def on_message(message: Message) -> None:
    if message.content.startswith("slow"):
        await asyncio.sleep(0.05)
    write(content=message.content)


@bot.event("member_add")
async def on_member(event: MemberChange) -> None:
    write(joined=event.member.user.username)


bot.run()

"""
Prints each event that it receives. With SESSION_FILE, it continues the session of that file and saves it there; with KEEP_SESSION, it keeps it when it stops.
With SLOW_SECS, listeners are slow after that many seconds. With TWO_LISTENERS, messages have two.
"""

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import parlance
import parlance.work
from parlance.models import MemberChange, Message

file = Path(os.environ["SESSION_FILE"]) if "SESSION_FILE" in os.environ else None
parlance.work.SLOW_SECS = float(os.environ.get("SLOW_SECS", "60"))


def load_session() -> Any:
    try:
        return json.loads(file.read_text()) if file else None
    except (OSError, ValueError):
        return None


bot = parlance.Client(
    resume_from=load_session(),
    max_pending=int(os.environ.get("MAX_PENDING", "1000")),
    stop_timeout=float(os.environ.get("STOP_TIMEOUT", "10")),
)


def write(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


@bot.event("ready")
async def on_ready(ready: parlance.Ready) -> None:
    try:
        bot.event("role_create")
    except RuntimeError as error:
        write(ready=ready.session_id, late=str(error))


@bot.event("resumed")
async def on_resumed(resumed: parlance.Resumed) -> None:
    write(resumed=resumed.replayed)


@bot.event("disconnected")
async def on_disconnected(disconnected: parlance.Disconnected) -> None:
    write(disconnected=disconnected.code)


@bot.event("events_missed")
async def on_missed(missed: parlance.EventsMissed) -> None:
    write(missed=missed.reason)


@bot.event("error")
async def on_error(error: Exception) -> None:
    write(error=str(error), notes=error.__notes__)
    raise RuntimeError("the listener of errors fails too")


@bot.on_message
async def on_message(message: Message) -> None:
    if message.content.startswith("slow"):
        await asyncio.sleep(0.05)
    if message.content == "endless":
        write(begun=message.content)
        await asyncio.Event().wait()
    if message.content == "faulty":
        raise ValueError("a fault")
    if message.content == "stop":
        await bot.stop(keep_session="KEEP_SESSION" in os.environ)
        try:
            await bot.api.get_me()
        except parlance.ParlanceError as error:
            write(stopped=str(error))
    write(content=message.content)


if "TWO_LISTENERS" in os.environ:

    @bot.on_message
    async def on_message_too(message: Message) -> None:
        pass


@bot.event("interaction_create")
async def on_command(interaction: parlance.Interaction) -> None:
    write(used=interaction.command)
    await interaction.reply("used")


@bot.event("member_add")
async def on_member(event: MemberChange) -> None:
    write(joined=event.member.user.username)


if file:
    new = file.with_suffix(".new")

    @bot.event("session")
    async def save(session: parlance.Session) -> None:
        await asyncio.sleep(0.02)  # as a database would take
        new.write_text(json.dumps(asdict(session)))
        new.replace(os.environ["SESSION_FILE"])
        write(saved=session.position)


bot.run(keep_session="KEEP_SESSION" in os.environ)
write(last=bot.session.position if bot.session else None)

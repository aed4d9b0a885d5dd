import dataclasses
import json
import os
from pathlib import Path

import parlance

session_file = Path(os.environ.get("SESSION_FILE", "session.json"))


def load_session():
    try:
        return json.loads(session_file.read_text())
    except (OSError, ValueError):
        return None  # the first start, or a damaged file


bot = parlance.Client(resume_from=load_session())


@bot.event("session")
async def save_session(session):
    new_file = session_file.with_suffix(".new")
    new_file.touch(mode=0o600)
    new_file.write_text(json.dumps(dataclasses.asdict(session)))
    new_file.replace(session_file)  # so that a crash leaves no half of a file


@bot.on_message
async def ping(message):
    if message.content == "!ping":
        await bot.api.create_message(message.channel_id, content="pong", reply_to=message.id)


@bot.event("ready")
async def ready(event):  # a new session; after a resume, only the next function is called
    print(f"The bot is online in {len(event.servers)} servers.", flush=True)


@bot.event("resumed")
async def resumed(event):
    print(f"The bot is online again. {event.replayed} events came in between.", flush=True)


bot.run(keep_session=True)  # until SIGTERM or SIGINT; then waits up to 10 s for functions that still run

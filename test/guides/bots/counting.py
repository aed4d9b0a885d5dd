"""Counts the messages of each person. A restart or a crash neither loses a message nor counts one twice."""

import dataclasses
import json
import os
import sqlite3
from pathlib import Path

import parlance

session_file = Path(os.environ.get("SESSION_FILE", "session.json"))
db = sqlite3.connect(os.environ.get("DATABASE", "counting.sqlite"))
db.execute("PRAGMA journal_mode = WAL")
db.execute("CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, author TEXT NOT NULL)")


def load_session():
    try:
        return json.loads(session_file.read_text())
    except (OSError, ValueError):
        return None


bot = parlance.Client(resume_from=load_session())


@bot.event("session")
async def save_session(session):
    new_file = session_file.with_suffix(".new")
    new_file.touch(mode=0o600)
    new_file.write_text(json.dumps(dataclasses.asdict(session)))
    new_file.replace(session_file)


@bot.on_message
async def count_message(message):
    if message.author.tag == "bot":
        return
    with db:  # after a crash, the last messages come again: the id makes that harmless
        db.execute("INSERT OR IGNORE INTO messages VALUES (?, ?)", (message.id, message.author.id))


@bot.command("count", description="Says how many messages were counted.")
async def count(interaction):
    (total,) = db.execute("SELECT count(*) FROM messages").fetchone()
    (own,) = db.execute("SELECT count(*) FROM messages WHERE author = ?", (interaction.user.id,)).fetchone()
    await interaction.reply(f"{total} messages, {own} of them by you.")


@bot.event("resumed")
async def resumed(event):
    print(f"The bot is online again. {event.replayed} events came in between.", flush=True)


@bot.event("events_missed")
async def missed(event):
    print(f"Messages are missing: {event.reason}", flush=True)


bot.run(keep_session=True)

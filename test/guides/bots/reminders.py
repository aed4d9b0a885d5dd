"""Reminds people, also after more than the 15 minutes in which a command can be answered, and after a restart."""

import asyncio
import os
import sqlite3
import time

import parlance

bot = parlance.Client()
db = sqlite3.connect(os.environ.get("DATABASE", "reminders.sqlite"))
db.execute("CREATE TABLE IF NOT EXISTS reminders (id TEXT PRIMARY KEY, due REAL, channel TEXT, user TEXT, text TEXT)")
seconds_per_minute = float(os.environ.get("SECONDS_PER_MINUTE", "60"))
changed = asyncio.Event()


@bot.command("remind", description="Reminds you.", options={"minutes": "In how many minutes.", "text": "Of what."})
async def remind(interaction, minutes: int, text: str):
    due = time.time() + minutes * seconds_per_minute
    with db:
        db.execute("INSERT INTO reminders VALUES (?, ?, ?, ?, ?)", (interaction.id, due, interaction.channel_id, interaction.user.id, text))
    changed.set()
    await interaction.reply(f"I will remind you in {minutes} minutes.", ephemeral=True)


async def send_reminders():
    while True:
        changed.clear()
        reminder = db.execute("SELECT id, due, channel, user, text FROM reminders ORDER BY due LIMIT 1").fetchone()
        if reminder is None or reminder[1] > time.time():
            try:
                await asyncio.wait_for(changed.wait(), None if reminder is None else reminder[1] - time.time())
            except asyncio.TimeoutError:
                pass
            continue
        id, _, channel, user, text = reminder
        try:  # the key posts it once, even if the program ends before the reminder is deleted
            await bot.api.create_message(channel, content=f"<@{user}>, you wanted to be reminded: {text}", idempotency_key=f"reminder-{id}")
        except parlance.ApiError as error:
            print(f"A reminder could not be sent: {error}", flush=True)  # for example because the channel was deleted
        with db:
            db.execute("DELETE FROM reminders WHERE id = ?", (id,))


sending = None


@bot.event("ready")
async def on_ready(ready):
    global sending
    if sending is None:  # it comes again if a session is lost
        sending = asyncio.create_task(send_reminders())


bot.run()

"""Shows messages with enough stars in the channel #starboard, once each, with the number of stars."""

import os
import sqlite3

import parlance

bot = parlance.Client()
db = sqlite3.connect(os.environ.get("DATABASE", "starboard.sqlite"))
db.execute("CREATE TABLE IF NOT EXISTS shown (message TEXT PRIMARY KEY, channel TEXT, shown TEXT)")
STARS_NEEDED = int(os.environ.get("STARS_NEEDED", "2"))


@bot.event("reaction_add")
async def starred(event):
    await update(event)


@bot.event("reaction_remove")
async def unstarred(event):
    await update(event)


async def update(event):
    if event.emoji != "⭐" or event.server_id is None:
        return
    message = await bot.api.get_message(event.channel_id, event.message_id)
    stars = next((reaction.count for reaction in message.reactions if reaction.emoji == "⭐"), 0)
    text = f"⭐ {stars} · <@{message.author.id}> in <#{message.channel_id}>"
    shown = db.execute("SELECT channel, shown FROM shown WHERE message = ?", (message.id,)).fetchone()
    if shown:
        await bot.api.edit_message(*shown, content=text)
    elif stars >= STARS_NEEDED and (board := await find_board(event.server_id)) and board.id != message.channel_id:
        embeds = [parlance.Embed(description=message.content or "…"), *message.embeds]
        post = await bot.api.create_message(board.id, content=text, embeds=embeds[:10], idempotency_key=f"star-{message.id}")
        with db:
            db.execute("INSERT INTO shown VALUES (?, ?, ?)", (message.id, board.id, post.id))


async def find_board(server_id):
    server = await bot.api.get_server(server_id)
    return next((channel for channel in server.channels if channel.name == "starboard"), None)


bot.run()

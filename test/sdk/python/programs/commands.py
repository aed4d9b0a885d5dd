"""
A bot with commands of every kind. Each message of people that begins with "release" lets /slow answer. With FALLBACK it answers commands that it has not declared.
"""

import asyncio
import json
import os
from datetime import datetime, timezone
from typing import Any, cast

import parlance

bot = parlance.Client(auto_defer=0.3)
released = asyncio.Event()
stubborn_released = asyncio.Event()
running: set[asyncio.Task[None]] = set()


@bot.command("roll", options={"sides": "How many sides.", "note": "A note."})
async def roll(interaction: parlance.Interaction, sides: int, note: str | None = None) -> None:
    """Rolls a die."""
    message = await interaction.reply(f"{sides + 1} {note.upper() if note else 'no note'}")
    await bot.api.add_reaction(message.channel_id, message.id, "🎲")
    await interaction.follow_up("only for you", ephemeral=True)


@bot.command("types", description="Takes every type.", ephemeral=True)
async def types(
    interaction: parlance.Interaction,
    sure: bool,
    share: float,
    person: parlance.UserId,
    group: parlance.RoleId,
    place: parlance.ChannelId,
) -> None:
    await interaction.reply(json.dumps([sure, share, person, group, place]))


@bot.command("slow", description="Takes its time.")
async def slow(interaction: parlance.Interaction) -> None:
    await released.wait()
    await interaction.reply("late, but here")
    await interaction.edit_reply("late, but edited")


@bot.command("edited", description="Defers, and answers by an edit.")
async def edited(interaction: parlance.Interaction) -> None:
    await interaction.defer()
    answer = await interaction.edit_reply("an edit as the answer")
    assert interaction.expires_at is not None
    minutes = round((interaction.expires_at - datetime.now(timezone.utc)).total_seconds() / 60)
    fetched = await interaction.fetch_reply()
    await interaction.follow_up(f"{fetched.content}: {fetched.id == answer.id}, {minutes} minutes")


@bot.command("early", description="Follows up before its answer.")
async def early(interaction: parlance.Interaction) -> None:
    try:
        await interaction.follow_up("too early")
    except parlance.ParlanceError as error:
        await interaction.reply(str(error))


@bot.command("removed", description="Deletes its answer.")
async def removed(interaction: parlance.Interaction) -> None:
    await interaction.reply("soon gone")
    await interaction.delete_reply()


@bot.command("busy", description="Edits its answer, and follows up.")
async def busy(interaction: parlance.Interaction) -> None:
    await interaction.reply("edit 0")
    for number in range(1, 7):
        await interaction.edit_reply(f"edit {number}")
    await interaction.follow_up("after the edits")


@bot.command("broken", description="Fails.")
async def broken(interaction: parlance.Interaction) -> None:
    raise RuntimeError("a fault of the handler")


@bot.command("twice", description="Answers twice.")
async def twice(interaction: parlance.Interaction) -> None:
    await interaction.reply("the first answer")
    await interaction.reply("the second answer")


@bot.command("long", description="Answers with too much, then with less.")
async def long(interaction: parlance.Interaction) -> None:
    try:
        await interaction.reply("x" * 2001)
    except parlance.ApiError as error:
        await interaction.reply(f"refused: {error.code}")


@bot.command("raw", description="Answers by requests of its own after a defer, and may fail then.")
async def raw(interaction: parlance.Interaction, how: str) -> None:
    await interaction.defer()
    if how == "an edit":
        await bot.api.edit_original_answer(interaction.id, interaction.token, content=f"answered by {how}")
    else:
        await bot.api.create_followup(interaction.id, interaction.token, content=f"answered by {how}")
    if how == "one that fails":
        raise RuntimeError("a fault after the answer")


@bot.command("silent", description="Does not answer.")
async def silent(interaction: parlance.Interaction) -> None:
    pass


@bot.command("forgetful", description="Defers, and does not answer.")
async def forgetful(interaction: parlance.Interaction) -> None:
    await interaction.defer()


@bot.command("background", description="Answers after its handler has ended.")
async def background(interaction: parlance.Interaction) -> None:
    async def answer() -> None:
        await asyncio.sleep(0.2)
        await interaction.reply("answered in the background")

    running.add(asyncio.create_task(answer()))


@bot.command("stubborn", description="Answers with too much, and then late.")
async def stubborn(interaction: parlance.Interaction) -> None:
    try:
        await interaction.reply("x" * 2001)
    except parlance.ApiError:
        await stubborn_released.wait()
        await interaction.reply("answered in the end")


@bot.prefix_command("!", "echo", description="Repeats a text.")
async def echo(message: parlance.Message, text: str) -> None:
    await bot.api.create_message(message.channel_id, content=f"echo: {text}", reply_to=message.id)


@bot.on_message
async def on_message(message: parlance.Message) -> None:
    if message.content == "release":
        released.set()
    if message.content == "release stubborn":
        stubborn_released.set()
    if message.content == "declare":
        for declare, arguments in ((bot.command, ("late",)), (bot.prefix_command, ("!", "late"))):
            try:
                cast(Any, declare)(*arguments)
            except RuntimeError as error:
                await bot.api.create_message(message.channel_id, content=str(error))


if "FALLBACK" in os.environ:

    @bot.event("interaction_create")
    async def fallback(interaction: parlance.Interaction) -> None:
        await interaction.reply(f"what is /{interaction.command}?")


@bot.event("ready")
async def on_ready(ready: parlance.Ready) -> None:
    print(json.dumps({"ready": ready.user.username}), flush=True)


bot.run(log_level=10)

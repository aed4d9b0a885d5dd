import random

import parlance

bot = parlance.Client()

roll_options = {"sides": "How many sides the die has.", "quiet": "Show the result only to you."}


@bot.command("roll", description="Rolls a die.", options=roll_options)
async def roll(interaction, sides: int, quiet: bool = False):
    if sides < 2:
        await interaction.reply("A die has at least 2 sides.", ephemeral=True)
    else:
        await interaction.reply(f"You rolled {random.randint(1, sides)}.", ephemeral=quiet)


@bot.command("count", description="Counts the members of this server.")
async def count(interaction):
    if interaction.server_id is None:
        await interaction.reply("Use this command in a server.")
        return
    await interaction.defer()
    await interaction.reply(f"This server has {await count_members(interaction.server_id)} members.")
    await interaction.follow_up("Only you see this message.", ephemeral=True)


async def count_members(server_id):
    total, last = 0, None
    while True:  # a page has at most 1,000 members
        page = await bot.api.list_members(server_id, limit=1000, after=last)
        total += len(page)
        if len(page) < 1000:
            return total
        last = page[-1].user.id


bot.run()

"""Opens a private channel for each request for help, which only the person, the staff and the bot can see."""

import parlance
from parlance import Permissions
from parlance.models import ChannelOverwrite

bot = parlance.Client()
SEE = Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES


@bot.command("ticket", description="Opens a private channel with the staff.", options={"subject": "What it is about."}, ephemeral=True)
async def ticket(interaction, subject: str):
    if interaction.server_id is None:
        await interaction.reply("Use this command in a server.")
        return
    server = await bot.api.get_server(interaction.server_id)
    staff = next((role.id for role in server.roles if role.name == "Staff"), None)
    overwrites = [
        ChannelOverwrite(id=server.id, allow=0, deny=Permissions.VIEW_CHANNEL),  # the id of the server stands for @everyone
        *(ChannelOverwrite(id=one, allow=SEE, deny=0) for one in (bot.user.id, interaction.user.id, staff) if one),
    ]
    try:
        channel = await bot.api.create_channel(server.id, name=f"ticket-{interaction.user.username}"[:100], kind="text", overwrites=overwrites)
    except parlance.ApiError as error:
        await interaction.reply(f"I cannot open a ticket: {error.message}")
        return
    await bot.api.create_message(channel.id, content=f"<@{interaction.user.id}> asks: {subject}")
    await interaction.reply(f"Your ticket is <#{channel.id}>.")


@bot.command("close", description="Closes this ticket.", ephemeral=True)
async def close(interaction):
    channel = await bot.api.get_channel(interaction.channel_id)
    if not channel.name.startswith("ticket-"):
        await interaction.reply("This is not a ticket.")
        return
    await interaction.reply("Closing.")
    await bot.api.delete_channel(channel.id)


bot.run()

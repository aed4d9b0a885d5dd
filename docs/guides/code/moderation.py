import re

import parlance

bot = parlance.Client()
forbidden = re.compile(r"\bfree coins\b", re.IGNORECASE)


@bot.on_message
async def check(message):
    if message.author.tag == "bot" or not forbidden.search(message.content):
        return
    await bot.api.delete_message(message.channel_id, message.id)
    await bot.api.create_message(message.channel_id, content=f"<@{message.author.id}>, no advertising here, please.")


@bot.command("kick", description="Removes a member.", options={"who": "Who is removed."}, ephemeral=True)
async def kick(interaction, who: parlance.UserId):
    await interaction.reply(await remove(interaction, who))


async def remove(interaction, who):
    if interaction.server_id is None:
        return "Use this command in a server."
    server = await bot.api.get_server(interaction.server_id)
    permissions = parlance.compute_permissions(server, interaction.user.id, interaction.user.roles)
    if parlance.Permissions.KICK_MEMBERS not in permissions:
        return "You may not remove members."
    try:
        await bot.api.kick_member(interaction.server_id, who)
        return "Removed."
    except parlance.ApiError as error:
        return "That member is not below me." if error.code == "role_hierarchy" else error.message


bot.run()

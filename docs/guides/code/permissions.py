import parlance

bot = parlance.Client()


@bot.command("can", description="Lists what this bot may do in this channel.")
async def can(interaction):
    if interaction.server_id is None:
        await interaction.reply("Use this command in a server.")
        return
    server = await bot.api.get_server(interaction.server_id)
    channel = next((one for one in server.channels if one.id == interaction.channel_id), None)
    permissions = parlance.compute_permissions(server, bot.user.id, server.my_roles, channel)
    await interaction.reply(", ".join(one.name.replace("_", " ").title() for one in permissions))


bot.run()

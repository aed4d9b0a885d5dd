import parlance

bot = parlance.Client()  # no intents: listeners ask for the events


@bot.event("member_add")
async def welcome(event):
    server = await bot.api.get_server(event.server_id)
    channel = next((one for one in server.channels if one.kind == "text"), None)
    if channel:
        await bot.api.create_message(channel.id, content=f"Welcome, <@{event.member.user.id}>!")


@bot.command("say", description="Says something.", options={"text": "What the bot says."})
async def say(interaction, text: str):
    embed = parlance.Embed(title=interaction.user.display_name, description=text, color=0x2F6F4F)
    await interaction.reply(embeds=[embed])


bot.run()

import parlance

bot = parlance.Client()  # reads PARLANCE_URL and PARLANCE_TOKEN


@bot.on_message
async def ping(message):
    if message.content == "!ping":
        await bot.api.create_message(message.channel_id, content="pong", reply_to=message.id)


@bot.command("hello", description="Says hello.")
async def hello(interaction):
    await interaction.reply(f"Hello, {interaction.user.display_name}!")


bot.run()

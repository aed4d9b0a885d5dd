import parlance

bot = parlance.Client()


@bot.command("repository", description="Creates a webhook for a repository.", ephemeral=True)
async def repository(interaction):
    webhook = await bot.api.create_webhook(interaction.channel_id, name="Repository")
    await interaction.reply(f"Add this webhook to your repository, with an empty secret: {webhook.url}/codehost")


bot.run()

import aiohttp
import parlance

bot = parlance.Client()


@bot.on_message
async def answer(message):
    if message.author.tag == "bot":
        return
    if message.content == "!members.csv":
        files = [parlance.File("members.csv", b"name,joined\nAda,2026-01-31\n")]
        await bot.api.create_message(message.channel_id, content="Here is the list.", reply_to=message.id, files=files)
    async with aiohttp.ClientSession() as session:
        for file in message.attachments:
            async with session.get(file.url) as response:
                data = await response.read()
            content = f"{file.filename}: {file.size} bytes, of which I read {len(data)}."
            await bot.api.create_message(message.channel_id, content=content)


bot.run()

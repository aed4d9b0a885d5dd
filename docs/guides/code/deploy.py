import logging

import parlance

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
bot = parlance.Client(stop_timeout=10)


@bot.on_message
async def ping(message):
    if message.content == "!ping":
        await bot.api.create_message(message.channel_id, content="pong", reply_to=message.id)


bot.run()  # SIGTERM and SIGINT end the session, and wait up to 10 s for functions that still run

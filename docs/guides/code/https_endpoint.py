import os

import parlance
from aiohttp import web

bot = parlance.Client()  # PARLANCE_TOKEN is needed only to register the commands


@bot.command("hello", description="Says hello.")
async def hello(interaction):
    await interaction.reply(f"Hello, {interaction.user.display_name}!")


async def create_app():
    await bot.register_commands()
    app = web.Application()
    app.router.add_post("/", bot.endpoint(os.environ["SIGNING_SECRET"]).aiohttp)
    app.on_cleanup.append(lambda app: bot.stop())
    return app


web.run_app(create_app(), port=int(os.environ.get("PORT", "3000")))

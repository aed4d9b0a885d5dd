import { pythonKit, quoted, type SampleOf } from './sample.ts';

/** An Interactions Endpoint in Python that checks each request's signature and answers `/hello`. */
export const pythonEndpoint: SampleOf = (base) => ({
  file: 'endpoint.py',
  install: `pip install ${base}${pythonKit}`,
  run: 'python3 endpoint.py',
  secret: 'SIGNING_SECRET',
  code: `import os

import parlance
from aiohttp import web

bot = parlance.Client(url=${quoted(base)})


@bot.command("hello", description="Says hello.", options={"name": "The name to greet."})
async def hello(interaction, name: str = ""):
    await interaction.reply(f"Hello, {name or interaction.user.display_name}!")


app = web.Application()
app.router.add_post("/", bot.endpoint(os.environ["SIGNING_SECRET"]).aiohttp)
web.run_app(app, port=int(os.environ.get("PORT", "3000")))
`,
});

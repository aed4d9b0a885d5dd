import { pythonKit, quoted, type SampleOf } from './sample.ts';

/** A bot in Python that keeps a connection to the gateway open, registers `/hello` and answers it. */
export const pythonGateway: SampleOf = (base) => ({
  file: 'bot.py',
  install: `pip install ${base}${pythonKit}`,
  run: 'python3 bot.py',
  secret: 'PARLANCE_TOKEN',
  code: `import parlance

bot = parlance.Client(url=${quoted(base)})


@bot.command("hello", description="Says hello.", options={"name": "The name to greet."})
async def hello(interaction, name: str = ""):
    await interaction.reply(f"Hello, {name or interaction.user.display_name}!")


bot.run()
`,
});

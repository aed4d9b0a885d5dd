import parlance

bot = parlance.Client()


@bot.prefix_command("!", "pin", description="Pins the message that this one replies to.")
async def pin(message, text):
    if message.reply is None:
        answer = "Reply to the message that you want to pin."
    else:
        answer = await try_to_pin(message)
    await bot.api.create_message(message.channel_id, content=answer, reply_to=message.id)


async def try_to_pin(message):
    try:
        await bot.api.pin_message(message.channel_id, message.reply.id)
        return "Pinned."
    except parlance.ApiError as error:
        if error.code == "missing_permission":
            return f"I lack a permission: {', '.join(error.missing)}."
        if error.code == "too_many_pins":
            return "This channel has as many pins as it can have."
        print(error, error.request_id, flush=True)
        return "That did not work."


bot.run()

import parlance

bot = parlance.Client()


@bot.event("message_update")
async def edited(message):
    print(f"Edited: {message.content}", flush=True)


@bot.event("message_delete")
async def deleted(event):
    print(f"Deleted: {event.id}", flush=True)


@bot.event("reaction_add")
async def reacted(event):
    print(f"Reaction {event.emoji} on {event.message_id}", flush=True)


@bot.event("resumed")
async def resumed(event):
    print(f"Back again. {event.replayed} events were missed and are now here.", flush=True)


@bot.event("events_missed")
async def missed(event):
    print(f"Events are missing ({event.reason}). Load what you need again.", flush=True)


bot.run()

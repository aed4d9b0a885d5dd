"""Posts the new entries of a feed into an announcement channel, and publishes them to the channels that follow it."""

import asyncio
import hashlib
import os
import sqlite3
from xml.etree import ElementTree

import aiohttp
import parlance

FEED_URL, CHANNEL_ID = os.environ["FEED_URL"], os.environ["CHANNEL_ID"]
PAUSE = float(os.environ.get("PAUSE", "300"))
db = sqlite3.connect(os.environ.get("DATABASE", "rss.sqlite"))
db.execute("CREATE TABLE IF NOT EXISTS posted (id TEXT PRIMARY KEY)")


async def read_feed(session):
    async with session.get(FEED_URL, timeout=aiohttp.ClientTimeout(total=30)) as response:
        response.raise_for_status()
        channel = ElementTree.fromstring(await response.read()).find("channel")
    items = channel.findall("item") if channel is not None else []
    return list(reversed(items))  # the oldest first


async def post(bot, item):
    title, link = item.findtext("title", "").strip(), item.findtext("link", "").strip()
    id = hashlib.sha256((item.findtext("guid") or link).encode()).hexdigest()[:32]
    if db.execute("SELECT 1 FROM posted WHERE id = ?", (id,)).fetchone():
        return
    message = await bot.api.create_message(CHANNEL_ID, content=f"**{title}**\n{link}"[:2000], idempotency_key=f"rss-{id}")
    try:
        await bot.api.crosspost_message(CHANNEL_ID, message.id)
    except parlance.ApiError as error:
        if error.code != "already_crossposted":  # by a run that ended before it was noted
            raise
    with db:
        db.execute("INSERT INTO posted VALUES (?)", (id,))
    print(f"Posted: {title}", flush=True)


async def main():
    async with parlance.Client() as bot, aiohttp.ClientSession() as session:
        print(f"Online. Reading {FEED_URL}.", flush=True)
        while True:
            try:
                for item in await read_feed(session):
                    await post(bot, item)
            except (aiohttp.ClientError, asyncio.TimeoutError, ElementTree.ParseError, parlance.ParlanceError) as error:
                print(f"Trying again later: {error}", flush=True)
            await asyncio.sleep(PAUSE)


asyncio.run(main())

"""
Calls the operations that it reads from stdin, as lines of JSON, and prints their results. A call with ``cancelAfter`` is cancelled after that many seconds. With
TIME_LIMIT_SECS and LEARN_SECS, the kit has other limits of time.
"""

import asyncio
import json
import logging
import os
import sys
from typing import Any

import parlance
import parlance.buckets
import parlance.http
from parlance.codec import decode, encode

logging.basicConfig(level=logging.INFO)
parlance.http.TIME_LIMIT_SECS = float(os.environ.get("TIME_LIMIT_SECS", "60"))
parlance.buckets.LEARN_SECS = float(os.environ.get("LEARN_SECS", "2"))


async def send_back(bot: parlance.Client, channel_id: str, message_id: str) -> parlance.Message:
    message = await bot.api.get_message(channel_id, message_id)
    return await bot.api.create_message(channel_id, embeds=message.embeds)


async def call(bot: parlance.Client, request: dict[str, Any]) -> None:
    fields = request["fields"]
    if "files" in fields:
        fields["files"] = [parlance.File(name, text.encode()) for name, text in fields["files"]]
    if "embeds" in fields:
        fields["embeds"] = [decode(parlance.Embed, embed) for embed in fields["embeds"]]
    answer: dict[str, Any] = {"id": request["id"]}
    try:
        async with asyncio.timeout(request.get("cancelAfter")):
            if request["call"] == "send_back":
                answer["result"] = encode(await send_back(bot, *request["path"]))
            else:
                answer["result"] = encode(await getattr(bot.api, request["call"])(*request["path"], **fields))
    except parlance.ApiError as error:
        answer["error"] = {
            "text": str(error),
            "status": error.status,
            "code": error.code,
            "missing": error.missing,
            "fields": [field.path for field in error.fields],
            "requestId": error.request_id,
        }
    except parlance.RequestFailed as error:
        answer["error"] = {"text": str(error), "code": "failed"}
    except TimeoutError:
        answer["error"] = {"text": "it was cancelled", "code": "cancelled"}
    except ValueError as error:
        answer["error"] = {"text": str(error), "code": "refused by the kit"}
    print(json.dumps(answer), flush=True)


async def main() -> None:
    running = set()
    async with parlance.Client(timeout=float(os.environ.get("TIMEOUT", "15")), max_retries=int(os.environ.get("MAX_RETRIES", "5"))) as bot:
        if "PRINT_WARNINGS" in os.environ:

            @bot.event("warning")
            async def on_warning(text: str) -> None:
                print(json.dumps({"warning": text}), flush=True)

        while line := await asyncio.to_thread(sys.stdin.readline):
            running.add(asyncio.create_task(call(bot, json.loads(line))))
        await asyncio.wait(running)


asyncio.run(main())

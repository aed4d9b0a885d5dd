"""The use of a command, and its answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Literal

from .errors import ApiError, ParlanceError
from .generated.models import Embed, EmbedView, InteractionUser, Message
from .generated.models import Interaction as InteractionData
from .generated.operations import Api

__all__ = ["Interaction"]

log = logging.getLogger("parlance")

WINDOW = timedelta(minutes=15)
"""The time for further answers after the first one."""


class Interaction:
    """
    Somebody used a command of this bot. The first answer, ``reply`` or ``defer``, must come within 3 seconds. If the handler has not answered shortly before
    that, the bot defers by itself, and ``reply`` has 15 minutes from then on.
    """

    def __init__(self, api: Api, data: InteractionData, *, ephemeral: bool = False) -> None:
        self._api = api
        self._ephemeral = ephemeral
        self._lock = asyncio.Lock()
        self._is_deferred = False
        self._is_answered = False
        self._is_ended = False
        """Whether ``end`` has answered."""
        self._first_answer = asyncio.Event()
        self.id = data.id
        self.token = data.token
        """The secret that lets everyone who has it answer. It is valid for 15 minutes."""
        self.channel_id = data.channel_id
        self.server_id = data.server_id
        """None in a direct message."""
        self.user: InteractionUser = data.user
        """The person, with the ids of their roles in the server."""
        self.command = data.data.name
        """The name of the command."""
        self.options: Mapping[str, str | int | float | bool] = {option.name: option.value for option in data.data.options}
        """The values of the options that were filled in."""
        self.expires_at: datetime | None = None
        """When the time for further answers is over. None until the interaction is answered or deferred."""

    def __repr__(self) -> str:
        return f"<Interaction {self.id} /{self.command}>"

    async def reply(
        self, content: str | None = None, *, embeds: Sequence[Embed | EmbedView] | None = None, ephemeral: bool | None = None
    ) -> Message:
        """Answers with a message, also after a defer. Only the person sees an ephemeral one. Use ``follow_up`` for further messages."""
        async with self._lock:
            if self._is_ended:  # the handler goes on in the background
                self._is_ended = False
                return await self._follow_up(content, embeds, ephemeral)
            if self._is_answered:
                raise ParlanceError("this interaction is answered already; use follow_up or edit_reply")
            if self._is_deferred:
                return await self._follow_up(content, embeds, ephemeral)
            message = await self._answer("message", content, embeds, ephemeral)
            if message is None:
                raise ParlanceError("the service did not return the answer")
            self._is_answered = True
            return message

    async def defer(self, *, ephemeral: bool | None = None) -> None:
        """Shows that the bot works on an answer, and gives 15 minutes for ``reply``. Does nothing if there is a first answer already."""
        async with self._lock:
            if not self.is_answered:
                await self._answer("defer", None, None, ephemeral)
                self._is_deferred = True

    async def follow_up(
        self, content: str | None = None, *, embeds: Sequence[Embed | EmbedView] | None = None, ephemeral: bool | None = None
    ) -> Message:
        """Sends one more message after the answer. After a defer, the first one is the answer."""
        async with self._lock:
            if not self.is_answered:
                raise ParlanceError("this interaction is not answered yet; use reply or defer first")
            return await self._follow_up(content, embeds, ephemeral)

    async def edit_reply(self, content: str | None = None, *, embeds: Sequence[Embed | EmbedView] | None = None) -> Message:
        """Edits the answer; what is left out stays. After a defer, this is the answer."""
        async with self._lock:
            if self._is_ended or (self._is_deferred and not self._is_answered):
                self._is_ended = False
                return await self._follow_up(content, embeds, None)
            return await self._api.edit_original_answer(self.id, self.token, content=content, embeds=embeds)

    async def fetch_reply(self) -> Message:
        """The answer, as it is now."""
        async with self._lock:
            return await self._api.get_original_answer(self.id, self.token)

    async def delete_reply(self) -> None:
        """Deletes the answer."""
        async with self._lock:
            await self._api.delete_original_answer(self.id, self.token)

    async def _answer(
        self, kind: Literal["message", "defer"], content: str | None, embeds: Sequence[Embed | EmbedView] | None, ephemeral: bool | None
    ) -> Message | None:
        is_ephemeral = self._ephemeral if ephemeral is None else ephemeral
        message = await self._api.answer_interaction(
            self.id, self.token, type=kind, content=content, embeds=embeds, ephemeral=is_ephemeral
        )
        self.expires_at = datetime.now(timezone.utc) + WINDOW
        self._first_answer.set()
        return message

    async def _follow_up(self, content: str | None, embeds: Sequence[Embed | EmbedView] | None, ephemeral: bool | None) -> Message:
        message = await self._api.create_followup(self.id, self.token, content=content, embeds=embeds, ephemeral=ephemeral)
        self._is_answered = True
        return message

    @property
    def is_answered(self) -> bool:
        """Whether there is a first answer, which may be a defer."""
        return self._first_answer.is_set()

    async def end(self, content: str) -> bool:
        """
        Ends an interaction whose handler has ended, so that people do not see for 15 minutes that the bot is working: with ``content``, if there is no answer.
        Returns whether there was none. The client calls this.
        """
        async with self._lock:
            if self._is_answered or await self._is_answered_otherwise():
                return False
            try:
                if self._is_deferred:
                    await self._follow_up(content, None, True)
                else:
                    await self._answer("message", content, None, True)
                    self._is_answered = True
                self._is_ended = True
            except ParlanceError as error:
                if isinstance(error, ApiError) and error.code == "already_answered":
                    return False  # by a request of the handler's own
                log.debug("%r could not be ended: %s", self, error)
            return True

    async def _is_answered_otherwise(self) -> bool:
        """Whether a deferred interaction has, or may have, an answer that was sent by a request of the handler's own."""
        if not self._is_deferred:
            return False
        try:
            await self._api.get_original_answer(self.id, self.token)
        except ParlanceError as error:
            return not (isinstance(error, ApiError) and error.code == "not_answered")
        return True

    async def defer_after(self, seconds: float) -> None:
        """Waits for the first answer, and defers if there is none in time. The client calls this."""
        try:
            await asyncio.wait_for(self._first_answer.wait(), seconds)
        except asyncio.TimeoutError:
            try:
                await self.defer()
            except ParlanceError as error:
                log.warning("%r could not be deferred: %s", self, error)

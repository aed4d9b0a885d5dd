"""The use of a command, and its answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from .errors import ParlanceError
from .generated.models import Embed, InteractionUser, Message
from .generated.models import Interaction as InteractionData
from .generated.operations import Api

__all__ = ["Interaction"]

log = logging.getLogger("parlance")


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

    def __repr__(self) -> str:
        return f"<Interaction {self.id} /{self.command}>"

    async def reply(
        self, content: str | None = None, *, embeds: Sequence[Embed] | None = None, ephemeral: bool | None = None
    ) -> Message:
        """Answers with a message, also after a defer. Only the person sees an ephemeral one. Use ``follow_up`` for further messages."""
        async with self._lock:
            if self._is_answered:
                raise ParlanceError("this interaction is answered already; use follow_up or edit_reply")
            if self._is_deferred:
                message = await self._api.create_followup(self.id, self.token, content=content, embeds=embeds, ephemeral=ephemeral)
            else:
                is_ephemeral = self._ephemeral if ephemeral is None else ephemeral
                answer = await self._api.answer_interaction(
                    self.id, self.token, type="message", content=content, embeds=embeds, ephemeral=is_ephemeral
                )
                if answer is None:
                    raise ParlanceError("the service did not return the answer")
                message = answer
            self._is_answered = True
            self._first_answer.set()
            return message

    async def defer(self, *, ephemeral: bool | None = None) -> None:
        """Shows that the bot works on an answer, and gives 15 minutes for ``reply``. Does nothing if there is a first answer already."""
        async with self._lock:
            if not self._is_deferred and not self._is_answered:
                is_ephemeral = self._ephemeral if ephemeral is None else ephemeral
                await self._api.answer_interaction(self.id, self.token, type="defer", ephemeral=is_ephemeral)
                self._is_deferred = True
                self._first_answer.set()

    async def follow_up(
        self, content: str | None = None, *, embeds: Sequence[Embed] | None = None, ephemeral: bool | None = None
    ) -> Message:
        """Sends one more message after the answer."""
        return await self._api.create_followup(self.id, self.token, content=content, embeds=embeds, ephemeral=ephemeral)

    async def edit_reply(self, content: str | None = None, *, embeds: Sequence[Embed] | None = None) -> Message:
        """Edits the answer. What is left out stays. An ephemeral answer cannot be edited."""
        return await self._api.edit_original_answer(self.id, self.token, content=content, embeds=embeds)

    async def delete_reply(self) -> None:
        """Deletes the answer."""
        await self._api.delete_original_answer(self.id, self.token)

    @property
    def is_answered(self) -> bool:
        """Whether there is a first answer, which may be a defer."""
        return self._first_answer.is_set()

    async def defer_after(self, seconds: float) -> None:
        """Waits for the first answer, and defers if there is none in time. The client calls this."""
        try:
            await asyncio.wait_for(self._first_answer.wait(), seconds)
        except asyncio.TimeoutError:
            try:
                await self.defer()
            except ParlanceError as error:
                log.warning("%r could not be deferred: %s", self, error)

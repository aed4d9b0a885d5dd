"""
A kit for bots of Parlance.

    import parlance

    bot = parlance.Client()  # PARLANCE_TOKEN and PARLANCE_URL


    @bot.command("hello", description="Says hello.")
    async def hello(interaction: parlance.Interaction) -> None:
        await interaction.reply(f"Hello, {interaction.user.display_name}!")


    bot.run()
"""

from .client import Client
from .codec import UNSET, Unset
from .commands import ChannelId, RoleId, UserId
from .endpoint import Endpoint
from .errors import ApiError, FieldError, GatewayClosed, ParlanceError, RequestFailed
from .files import File
from . import models
from .generated.models import Embed, Message
from .interactions import Interaction
from .lifecycle import Disconnected, EventsMissed, Ready, Resumed, Session
from .permissions import ALL_PERMISSIONS, Permissions, compute_permissions
from .signatures import verify_request
from .version import VERSION as __version__

__all__ = [
    "ALL_PERMISSIONS",
    "UNSET",
    "ApiError",
    "ChannelId",
    "Client",
    "Disconnected",
    "Embed",
    "Endpoint",
    "EventsMissed",
    "FieldError",
    "File",
    "GatewayClosed",
    "Interaction",
    "Message",
    "ParlanceError",
    "Permissions",
    "Ready",
    "RequestFailed",
    "Resumed",
    "RoleId",
    "Session",
    "Unset",
    "UserId",
    "__version__",
    "compute_permissions",
    "models",
    "verify_request",
]

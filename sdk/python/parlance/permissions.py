"""Who may do what: permission bits, and how roles and channels combine them."""

from __future__ import annotations

from collections.abc import Iterable

from .generated.models import Channel, Server
from .generated.permissions import Permissions

__all__ = ["ALL_PERMISSIONS", "Permissions", "compute_permissions"]

ALL_PERMISSIONS = Permissions((1 << len(Permissions)) - 1)


def compute_permissions(server: Server, user_id: str, roles: Iterable[str], channel: Channel | None = None) -> Permissions:
    """
    The permissions of a member who has ``roles`` in ``server``, or in one of its channels. For a thread, pass the channel that it belongs to. In a channel
    that the member cannot view, there are none.
    """
    if server.owner_id == user_id:
        return ALL_PERMISSIONS
    by_role = {role.id: int(role.permissions) for role in server.roles}
    own = [role for role in roles if role in by_role and role != server.id]
    bits = by_role.get(server.id, 0)  # the role @everyone has the id of the server
    for role in own:
        bits |= by_role[role]
    if bits & Permissions.ADMINISTRATOR:
        return ALL_PERMISSIONS
    if channel is None:
        return Permissions(bits)
    overwrites = {overwrite.id: overwrite for overwrite in channel.overwrites or ()}
    for ids in ([server.id], own, [user_id]):
        allow = deny = 0
        for overwrite in (overwrites[id] for id in ids if id in overwrites):
            allow |= int(overwrite.allow)
            deny |= int(overwrite.deny)
        bits = (bits & ~deny) | allow
    return Permissions(bits) if bits & Permissions.VIEW_CHANNEL else Permissions(0)

"""The objects of the API and the payloads of events."""

from .generated.models import *  # noqa: F403

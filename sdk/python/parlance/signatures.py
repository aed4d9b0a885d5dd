"""Signatures of requests to an Interactions Endpoint."""

from __future__ import annotations

import hashlib
import hmac
import time

__all__ = ["SIGNATURE_HEADER", "TIMESTAMP_HEADER", "to_secret", "verify_request"]

TIMESTAMP_HEADER = "X-Service-Timestamp"
SIGNATURE_HEADER = "X-Service-Signature"
MAX_AGE_SECS = 300


def verify_request(signing_secret: str, body: bytes, timestamp: str | None, signature: str | None) -> bool:
    """
    Whether the service has sent a request to an Interactions Endpoint. ``body`` are its exact bytes, ``timestamp`` and ``signature`` its headers
    ``X-Service-Timestamp`` and ``X-Service-Signature``. Requests older than 5 minutes are refused. Raises ValueError if the secret is empty.
    """
    secret = to_secret(signing_secret)
    if not timestamp or not signature or not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 15:
        return False
    if abs(time.time() - int(timestamp)) > MAX_AGE_SECS:
        return False
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


def to_secret(signing_secret: str) -> str:
    """A secret without spaces and line ends around it, which one from a file often has. Raises ValueError if it is empty, because anyone could sign with that."""
    secret = signing_secret.strip()
    if not secret:
        raise ValueError("signing_secret is empty; copy the signing secret of the application from the developer portal")
    return secret

"""Computes the permissions of the cases that it reads from stdin, as one line of JSON, and prints them."""

import json
import sys

import parlance
from parlance.codec import decode
from parlance.models import Channel, Server

results = [
    int(
        parlance.compute_permissions(
            decode(Server, case["server"]), "member", case["roles"], decode(Channel, case["channel"]) if case["channel"] else None
        )
    )
    for case in json.loads(sys.stdin.readline())
]
print(json.dumps({"results": results, "names": {flag.name: flag.value for flag in parlance.Permissions}}))

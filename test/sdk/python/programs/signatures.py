"""Verifies the requests that it reads from stdin, as one line of JSON, and prints whether each one is valid."""

import json
import sys

import parlance

results = [
    parlance.verify_request(case["secret"], case["body"].encode(), case["timestamp"], case["signature"])
    for case in json.loads(sys.stdin.readline())
]
print(json.dumps({"results": results}))

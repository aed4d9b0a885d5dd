#!/bin/sh
# Upgrades an installation with Docker Compose to the newest version (docs/operations/upgrade.md#steps). The old containers go on until the database is migrated
# and the new containers are healthy. `deploy/upgrade.sh --no-pull` upgrades to the version in this folder.
set -eu

# Replaces the containers of a service. If the new ones do not become healthy, they are removed and the upgrade ends.
replace() {
  old=$(docker compose ps --quiet "$1")
  count=$(printf '%s' "$old" | grep -c . || true)
  [ "$count" -gt 0 ] || return 0
  scales="$scales --scale $1=$count"
  echo "$1: replacing $count"
  if ! docker compose up --detach --no-deps --no-recreate --wait --wait-timeout 180 --scale "$1=$((count * 2))" "$1"; then
    for container in $(docker compose ps --all --quiet "$1"); do
      echo "$old" | grep -q "$container" || docker rm --force "$container"
    done
    echo "$1: the new containers did not become healthy and were removed; the old ones go on" >&2
    exit 1
  fi
  # The proxy asks for the addresses of the containers every 5 s.
  sleep 10
  for container in $old; do
    docker stop "$container"
    docker rm "$container"
  done
}

# A function, because the shell must have read all of this file before it is replaced.
upgrade() {
  cd "$(dirname "$0")/.."
  [ "${1:-}" = --no-pull ] || git pull --ff-only
  docker compose build
  docker compose run --rm migrate
  scales=
  for service in gateway worker api; do replace "$service"; done
  # The rest: ops, and what changed of the proxy and the stores.
  # shellcheck disable=SC2086 # a list of options
  docker compose up --detach $scales
}

upgrade "$@"
exit

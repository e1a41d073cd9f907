#!/bin/sh
# Three cells behind HAProxy on this machine, each with a PostgreSQL of its own, for trying. Everything lies in the folder `fleet` where
# it is started; Ctrl-C ends it. Needs haproxy 2.6 or later, openssl and a checkout of Tollgate that is built.
set -eu
umask 077
program=$(cd "$(dirname "$0")/../.." && pwd)/bin/tollgate.js
tollgate() { node "$program" "$@"; }
mkdir -p fleet && cd fleet
at=$PWD
stop() { trap - EXIT INT TERM; kill $pids 2> /dev/null || true; wait; }
pids=
trap stop EXIT INT TERM

cells=
number=0
for name in one two three; do
  number=$((number + 1))
  port=$((18080 + number))
  cat > "$name.settings" << SETTINGS
TOLLGATE_DATA_DIR=$at/$name
TOLLGATE_PORT=$port
TOLLGATE_CONSOLE_PORT=$((port + 100))
TOLLGATE_CONSOLE_URL=http://localhost:$((port + 100))
TOLLGATE_CHECKOUT_PORT=$((port + 200))
TOLLGATE_DEMO=false
TOLLGATE_TRUSTED_PROXIES=127.0.0.1
SETTINGS
  cells="$cells${cells:+,}{\"name\":\"$name\",\"address\":\"https://$name.pay.example\",\"gateways\":[\"127.0.0.1:$port\"],\"settings\":\"$at/$name.settings\"}"
  (
    set -a
    . "./$name.settings"
    [ -d "$name" ] && exit 0
    tollgate migrate
    tollgate cell name "$name" --number "$number"
    organisation=$(tollgate organisation add "Shop in $name" --json | sed 's/.*"id":\([0-9]*\).*/\1/')
    merchant=$(tollgate merchant add "Shop in $name" --organisation "$organisation" --json | sed 's/.*"id":\([0-9]*\).*/\1/')
    tollgate organisation host "$organisation" --name "shop-$name.pay.example"
    tollgate user add "shop-$name" --merchant "$merchant" --json > "$name.user"
  )
  (set -a && . "./$name.settings" && exec node "$program" serve > "$name.log" 2>&1) &
  pids="$pids $!"
done
echo "{\"cells\":[$cells]}" > fleet.json
export TOLLGATE_FLEET_FILE="$at/fleet.json"

[ -e site.pem ] || openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=pay.example" \
  -addext "subjectAltName=DNS:*.pay.example" -keyout site.key -out site.crt 2> /dev/null
cat site.crt site.key > site.pem
for name in one two three; do (set -a && . "./$name.settings" && tollgate probe ready --within 60s); done
tollgate fleet map > fleet.map
tollgate fleet proxy --bind 127.0.0.1:8443 --certificates "$at/site.pem" --map "$at/fleet.map" --socket "$at/admin.sock" > haproxy.cfg
haproxy -db -f haproxy.cfg > haproxy.log 2>&1 &
pids="$pids $!"
tollgate fleet status
echo "HAProxy listens on https://127.0.0.1:8443. What leads where is in $at/fleet.map, users are in $at/*.user."
wait

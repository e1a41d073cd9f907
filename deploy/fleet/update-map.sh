#!/bin/sh
# Brings the proxy's map up to date: which host name leads to which cell. Run it from the timer beside it, and after each change, on a
# machine that reaches every cell's database and keys: an operators' machine, not the proxy.
#
# Nothing changes unless all cells can be read: a proxy with a part of the names would turn away the clients of the others.
#   MAP      where the map is kept (/etc/haproxy/fleet.map)
#   DELIVER  what makes the proxy use it, for example a script that copies it there (systemctl reload haproxy)
set -eu
umask 022
map=${MAP:-/etc/haproxy/fleet.map}
new=$map.new
tollgate fleet map --format haproxy > "$new" || {
  rm "$new"
  exit 1
}
if cmp -s "$new" "$map"; then
  rm "$new"
else
  mv "$new" "$map"
  ${DELIVER:-systemctl reload haproxy}
fi

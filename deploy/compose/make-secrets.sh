#!/bin/sh
# Creates the secrets that compose.yaml names, unless they exist. The folder is closed to other users; the files in it are not, because
# the users in the containers read them. Run as root, it limits the gateway's secrets to the gateway's group; otherwise the gateway
# warns of them.
#
# key-encryption-key protects every stored card. Back it up, separately from the database.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets

random_hex() { od -An -N 24 -t x1 /dev/urandom | tr -d ' \n'; }

make() {
  if [ -e "secrets/$1" ]; then
    echo "secrets/$1 is there already"
  else
    cat > "secrets/$1.new"
    if [ "${2-}" != '' ] && [ "$(id -u)" = 0 ]; then
      chgrp "$2" "secrets/$1.new"
      chmod 640 "secrets/$1.new"
    else
      chmod 644 "secrets/$1.new"
    fi
    mv "secrets/$1.new" "secrets/$1"
    echo "secrets/$1 made"
  fi
}

random_hex | make postgres-password
head -c 32 /dev/urandom | base64 | make key-encryption-key 10001
random_hex | make metrics-token 10001

# The addresses of the database: for those who serve, for migrations, and for operators' commands.
login() {
  random_hex | make "$1-password"
  printf 'postgres://tollgate_%s:%s@postgres:5432/tollgate\n' "$1" "$(cat "secrets/$1-password")" | make "$2" 10001
}
login serving database-url
login owner migrating-database-url
login operating operating-database-url

#!/bin/sh
# A fake of the codex CLI that is wrong in one way: fake-codex.sh CASE WORDS...
case=$1
shift

case $case/$1 in
old/--version) echo 'codex-cli 0.99.0' ;;
old/*)
    echo "error: unrecognized subcommand '$1'" >&2
    exit 2
    ;;
old-handshake/*)
    read -r line
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    echo "{\"id\":$id,\"result\":{\"userAgent\":\"weft/0.99.0 (a fake)\"}}"
    cat >/dev/null
    ;;
other-program/*)
    echo 'this is not a codex' >&2
    exit 2
    ;;
chatty/*) yes hello ;;
silent/*) exec sleep 3600 ;;
esac

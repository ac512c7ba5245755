#!/bin/sh
# A fake of the scripted agent, for the fault tests. It speaks the agent's protocol well but for one fault:
# fake-agent.sh FAULT FOLDER scripted-agent. The time of the fault, in milliseconds, stands in FOLDER/FAULT.at.
fault=$1
folder=$2

# Commits the fault each time.
always() {
    [ "$fault" = "$1" ] || return 1
    date +%s%3N >"$folder/$fault.at"
}

# Commits the fault the first time.
at() {
    [ ! -e "$folder/$1.at" ] && always "$1"
}

field() {
    printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

say() {
    printf '%s\n' "$1"
}

always exit-at-once && exit 3
always noise-first && {
    say 'Welcome to the fake agent!'
    say ''
    printf '\033[1mIt is chatty\033[0m\r\n'
    say '"a text"'
    say '[1,2]'
}
always noise && yes 'this is no protocol' | head -c 1000000
always deaf && exec sleep 3600

while read -r line; do
    case $line in
    *'"op":"hello"'*)
        always exit-at-hello && exit 4
        always silent && exec sleep 3600
        always wrong-handshake && {
            say '{"event":"hello","version":{"major":9}}'
            continue
        }
        say '{"event":"hello","version":"0.0.0-fake"}'
        ;;
    *'"op":"open"'*)
        at exit-at-open && exit 5
        at silent-at-open && exec sleep 3600
        say "{\"event\":\"opened\",\"thread\":\"$(field thread)\",\"native\":\"native-1\"}"
        ;;
    *'"op":"turn"'*)
        turn=$(field turn)
        at exit-at-turn && exit 6
        say "{\"event\":\"turn-started\",\"turn\":\"$turn\"}"
        at exit-0-in-turn && exit 0
        at exit-1-in-turn && exit 1
        at killed-in-turn && kill -9 $$
        at closes-stdout && exec sleep 3600 >&-
        at last-words && {
            say 'out of memory, giving up' >&2
            exit 7
        }
        at cut-line && {
            printf '{"event":"turn-ended","turn":"%s","outcome":"completed"' "$turn"
            exit 0
        }
        at long-line && {
            head -c 1200000 /dev/zero | tr '\0' x
            echo
        }
        at noise-in-turn && yes 'this is no protocol' | head -c 1000000
        at no-newline && head -c 1073741824 /dev/zero | tr '\0' x
        at flood-of-lines && yes 'not the protocol' | head -c 1073741824
        at flood-of-errors && head -c 1073741824 /dev/zero | tr '\0' x >&2
        at stops-reading && exec sleep 3600
        say "{\"event\":\"text-ended\",\"turn\":\"$turn\",\"item\":\"$turn\",\"text\":\"fine\"}"
        say "{\"event\":\"turn-ended\",\"turn\":\"$turn\",\"outcome\":\"completed\"}"
        ;;
    *'"op":"close"'*)
        say "{\"event\":\"closed\",\"thread\":\"$(field thread)\"}"
        ;;
    esac
done

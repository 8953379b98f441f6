#!/bin/bash
# Builds the image of the Dockerfile with podman, on a Debian of debootstrap's instead of a registry's, and tries it.
#
# Usage (as root): tests/image.sh [build | try | both]
# It needs podman, debootstrap and half an hour, mostly for Debian's packages. `make image` is `tests/image.sh both`.
# What is built stays as localhost/archivebox and localhost/archivebox-base. What is not tried: docker, compose.yaml.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd -P)
image=localhost/archivebox
base=localhost/archivebox-base
suite=${IMAGE_SUITE:-bookworm}
# The mirror that this system has its own packages from.
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/debian* 2>/dev/null || true; } |
    sed -nE 's/^URIs: *(\S+).*/\1/p; s/^deb (\[[^]]*\] )?(\S+) .*/\2/p' | head -1)
profile=$checkout/packaging/seccomp.json
user_files=/usr/local/share/ca-certificates

step() { printf '\n--- %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# podman, where control groups of version 1 are mounted beside version 2 with the latter alone in sight: crun wants that.
engine() {
    if [ -d /sys/fs/cgroup/memory ]; then
        # shellcheck disable=SC2016  # expanded inside
        unshare --mount sh -c 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec podman "$@"' - "$@"
    else
        podman "$@"
    fi
}

# No more than this process may have itself; the network of the host, as the local web listens there.
limits=(--cgroups=disabled --network=host --shm-size=1g --ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=32768:32768)
# What compose.yaml asks for.
hardened=(--security-opt "seccomp=$profile" --security-opt no-new-privileges
    --cap-drop ALL --cap-add CHOWN --cap-add SETGID --cap-add SETPCAP --cap-add SETUID)

run() { engine run --rm "${limits[@]}" "$@"; }

make_base() {
    local root=$work/root name changes=()
    step "a base: debootstrap $suite"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
        { tail -20 "$work/log" >&2; return 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    # What this machine's package clients need to reach their registries; a base from a registry has none of it.
    mkdir -p "$root$user_files"
    find "$user_files" -name '*.crt' -exec cp -L {} "$root$user_files/" \;
    chroot "$root" update-ca-certificates >/dev/null 2>&1
    for name in PIP_CERT PIP_INDEX_URL PIP_DEFAULT_TIMEOUT NODE_EXTRA_CA_CERTS; do
        if [ -n "${!name:-}" ]; then changes+=(--change "ENV $name=${!name}"); fi
    done
    tar -C "$root" -c . | engine import --quiet "${changes[@]}" - "$base" >/dev/null
    rm -rf "$root"
}

build() {
    engine image exists "$base" || make_base
    step 'the image'
    engine build --quiet --network=host --isolation=chroot --layers --build-arg "BASE=$base" --tag "$image" "$checkout"
    engine images "$image"
}

# --- trying it -------------------------------------------------------------------------------------------------------

begin_site() {
    python3 "$checkout/tests/site/serve.py" --print-url >"$work/url" 2>"$work/site.log" &
    site=$!
    for _ in $(seq 100); do [ -s "$work/url" ] && return; sleep 0.1; done
    fail "the local web does not answer: $(cat "$work/site.log")"
}

owner_of() { stat -c %u:%g "$1"; }

# A folder as Docker makes it for -v: root's. The page is archived by a user without any capability, in the sandbox.
try_add() {
    local data=$work/new
    mkdir "$data"
    step 'add, in a folder that root made'
    run "${hardened[@]}" -e PRIVATE_NETWORK_ALLOWLIST=127.0.0.1 -v "$data:/data" "$image" add "$(cat "$work/url")" >"$work/out"
    tail -1 "$work/out" | grep -q '"exit_code":0' || fail "$(tail -1 "$work/out")"
    tail -1 "$work/out" | grep -q '"failed"' && fail "$(tail -1 "$work/out")"
    [ "$(owner_of "$data/index.sqlite3")" = 911:911 ] || fail "the collection belongs to $(owner_of "$data/index.sqlite3")"
    run "${hardened[@]}" -v "$data:/data" "$image" doctor >"$work/out"
    grep '"name":"sandbox","state":"ok"' "$work/out" || fail 'Chromium has no sandbox'
}

try_owners() {
    local data
    step 'a folder of another user; PUID and PGID; --user; a folder that is not ours'
    data=$work/theirs && mkdir "$data" && chown 1234:1235 "$data"
    run "${hardened[@]}" -v "$data:/data" "$image" init && [ "$(owner_of "$data/index.sqlite3")" = 1234:1235 ] || fail 'the owner'
    data=$work/named && mkdir "$data"
    run "${hardened[@]}" -e PUID=2000 -e PGID=2001 -v "$data:/data" "$image" init
    [ "$(owner_of "$data/index.sqlite3")" = 2000:2001 ] || fail 'PUID'
    data=$work/user && mkdir "$data" && chown 3000 "$data"
    run "${hardened[@]}" --user 3000:3000 -v "$data:/data" "$image" init && [ "$(owner_of "$data/index.sqlite3")" = 3000:3000 ] || fail '--user'
    data=$work/roots && mkdir "$data" && touch "$data/file" && chmod 700 "$data"
    if run "${hardened[@]}" -v "$data:/data" "$image" init 2>"$work/err"; then fail 'the folder of root was taken'; fi
    grep 'sudo chown -R 911:911' "$work/err"
}

# The image replaced over the folder of an earlier one: it is refused, unchanged, and imported into a new one.
try_import() {
    local old=$work/old data=$work/imported before
    step 'an earlier collection'
    mkdir "$old" "$data"
    tar -C "$old" -xf "$checkout/tests/old_collections/0.7.4.tar.xz"
    if [ ! -e "$old/index.sqlite3" ]; then old=$(dirname "$(find "$old" -name index.sqlite3 | head -1)"); fi
    chown -R 911:911 "$work/old"
    before=$(find "$old" -type f -exec sha256sum {} + | sort | sha256sum)
    if run "${hardened[@]}" -v "$old:/data" "$image" server 2>"$work/err"; then fail 'the old folder was taken'; fi
    cat "$work/err"
    run "${hardened[@]}" -v "$data:/data" "$image" init
    run "${hardened[@]}" -v "$old:/old:ro" -v "$data:/data" "$image" import /old --yes
    run "${hardened[@]}" -v "$data:/data" "$image" list >"$work/out"
    [ "$(grep -c '"type":"Snapshot"' "$work/out")" -ge 3 ] || fail "$(cat "$work/out")"
    [ "$before" = "$(find "$old" -type f -exec sha256sum {} + | sort | sha256sum)" ] || fail 'the old folder has changed'
}

answers() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5).read(1)' "$1" 2>/dev/null; }

# Without our profile and without user namespaces; the server is process 1, and ends in order within its grace.
try_server() {
    local name=archivebox-$$ status
    step 'server, as an earlier compose.yaml has it, where no user namespaces are allowed'
    python3 - "$profile" "$work/none.json" <<'PY'
import json, sys

profile = json.load(open(sys.argv[1]))
profile["syscalls"].pop()
json.dump(profile, open(sys.argv[2], "w"))
PY
    engine run --detach --name "$name" "${limits[@]}" --cap-drop ALL --cap-add CHOWN --cap-add SETGID --cap-add SETPCAP \
        --cap-add SETUID --security-opt "seccomp=$work/none.json" -e ADMIN_USERNAME=alice -e ADMIN_PASSWORD=secret \
        -e CSRF_TRUSTED_ORIGINS=https://archive.example.org -e BIND_ADDR=127.0.0.1:8764 -v "$work/new:/data" "$image" >/dev/null
    for _ in $(seq 120); do
        if answers http://127.0.0.1:8764/health/; then break; fi
        sleep 1
    done
    answers http://127.0.0.1:8764/health/ || { engine logs "$name"; fail 'the server does not answer'; }
    for _ in $(seq 60); do
        if engine logs "$name" 2>&1 | grep -q 'Log in'; then break; fi
        sleep 1
    done
    engine exec "$name" sh -c 'sleep 1 & sleep 1 & exit'
    sleep 3
    engine exec "$name" sh -c 'cat /proc/[0-9]*/stat' | grep ' Z ' && fail 'a zombie is left'
    engine stop --time 60 "$name" >/dev/null
    status=$(engine inspect --format '{{.State.ExitCode}}' "$name")
    engine logs "$name" >"$work/out" 2>&1
    engine rm "$name" >/dev/null
    cat "$work/out"
    [ "$status" = 143 ] || fail "the server ended with status $status"
    grep -q 'Chromium runs without its sandbox' "$work/out" || fail 'nothing was said of the sandbox'
    grep -q 'CSRF_TRUSTED_ORIGINS has no effect' "$work/out" || fail 'nothing was said of CSRF_TRUSTED_ORIGINS'
    grep -q 'Log in as alice' "$work/out" || fail 'ADMIN_USERNAME'
}

clean_up() {
    if [ -n "${site:-}" ]; then kill "$site" 2>/dev/null || true; fi
    rm -rf --one-file-system "$work"
}

[ "$(id -u)" = 0 ] || { echo 'tests/image.sh needs root (debootstrap, mounts)' >&2; exit 2; }
for program in podman debootstrap; do
    command -v "$program" >/dev/null || { echo "please type: apt-get install $program" >&2; exit 2; }
done
work=$(mktemp -d -p "${IMAGE_TMP:-/var/tmp}" image.XXXXXX)
chmod 755 "$work"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
case ${1:-both} in build | both) build ;; esac
case ${1:-both} in
try | both)
    begin_site
    try_add
    try_owners
    try_import
    try_server
    step 'all is well'
    ;;
build) ;;
*) echo 'usage: tests/image.sh [build | try | both]' >&2; exit 2 ;;
esac

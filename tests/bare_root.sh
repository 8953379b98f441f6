#!/bin/bash
# Runs the README's two commands on a Debian that has python3 and nothing else, as a person's fresh machine has it.
#
# Usage (as root): tests/bare_root.sh [root | user | both] [version | add | server | suite] [argument of pytest ...]
# The second word says how far to go: each stage comes after the ones before it; `server` is the default. `suite` alone
# runs bin/test there, which gets Chromium, Node, PostgreSQL and what else the tests need; with arguments, these tests.
#
# Each run gets a root of its own by debootstrap, in a mount and a pid namespace of its own, so that whatever is mounted
# or started in it ends with it, however this script ends. It is entered by pivot_root and not by chroot, because a
# chrooted process may not make user namespaces, which Chromium's sandbox needs.
# BARE_ROOT_SUITE, BARE_ROOT_MIRROR and BARE_ROOT_TMP choose another Debian, mirror, and folder (2 GB are used).
set -euo pipefail

suite=${BARE_ROOT_SUITE:-bookworm}
mirror=${BARE_ROOT_MIRROR:-http://deb.debian.org/debian}
checkout=$(cd "$(dirname "$0")/.." && pwd -P)
settings=/etc/bare-root.env # inside: what the host's package clients were told

step() { printf '\n--- %s\n' "$*"; }

# --- on the host ---------------------------------------------------------------------------------------------------

# Copies a host's file to the same path in the root $1.
pass_on() {
    if [ -e "$2" ]; then
        mkdir -p "$1$(dirname "$2")"
        cp -L "$2" "$1$2"
    fi
}

# The folders that pip is told to look in: --find-links, and the parent of a file:// index, whose links may lead there.
pip_folders() {
    { env | grep '^PIP_' || true; cat /etc/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf 2>/dev/null || true; } |
        tr ' =' '\n' | grep -E '^(file://)?/' | while read -r word; do
        folder=${word#file://}
        case $word in file://*) folder=$(dirname "$folder") ;; esac
        if [ -d "$folder" ]; then echo "$folder"; fi
    done | sort -u
}

# What the host's package clients need to reach their registries: resolver, certificates, proxies, configurations.
pass_on_host_settings() {
    local root=$1 home file
    pass_on "$root" /etc/resolv.conf
    pass_on "$root" /etc/hosts
    mkdir -p "$root/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp -L {} "$root/usr/local/share/ca-certificates/" \;
    chroot "$root" update-ca-certificates >/dev/null 2>&1
    for file in /etc/pip.conf /etc/npmrc; do pass_on "$root" "$file"; done
    for home in /root /home/person; do
        mkdir -p "$root$home/.config/pip"
        for file in .npmrc .config/pip/pip.conf; do
            if [ -e ~/"$file" ]; then cp -L ~/"$file" "$root$home/$file"; fi
        done
    done
    chroot "$root" chown -R person:person /home/person
    grep -lE 'Acquire::' /etc/apt/apt.conf.d/* 2>/dev/null | while read -r file; do pass_on "$root" "$file"; done
    env | grep -E '^(PIP_[A-Z_]*|SSL_CERT_[A-Z]*|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|NPM_CONFIG_[A-Z_]*|npm_config_[a-z_]*|[A-Za-z]*_proxy|[A-Z]*_PROXY)=' \
        >"$root$settings" || true
    cut -d= -f2- "$root$settings" | grep '^/' | while read -r file; do
        if [ -f "$file" ] && ! [ -e "$root$file" ]; then pass_on "$root" "$file"; fi
    done
}

make_root() {
    local root=$1
    step "debootstrap $suite"
    debootstrap --variant=minbase --include=python3,ca-certificates,sudo "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
        { tail -20 "$root.log" >&2; return 1; }
    rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    chroot "$root" useradd --create-home --shell /bin/bash person
    echo 'person ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/person"
    pass_on_host_settings "$root"
}

copy_checkout() {
    mkdir -p "$1"
    git -c safe.directory="$checkout" -C "$checkout" ls-files -z --cached --others --exclude-standard |
        (cd "$checkout" && tar --null --files-from=- --ignore-failed-read -cf - 2>/dev/null) | tar -C "$1" -xf - --no-same-owner
}

# Runs as the first process of the new namespaces, and goes into the root for good.
enter() {
    local root=$1 folder
    mount --bind "$root" "$root"
    pip_folders | while read -r folder; do
        mkdir -p "$root$folder"
        mount --bind "$folder" "$root$folder"
        mount -o remount,bind,ro "$root$folder"
    done
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys" || true
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    mkdir "$root/dev/pts" "$root/dev/shm" "$root/.host"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    for device in null zero full random urandom tty; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    cd "$root"
    pivot_root . .host
    exec /bin/bash -c 'umount -l /.host && rmdir /.host && shift && exec "$@"' - - "${@:2}"
}

run_as() {
    local who=$1 stage=$2 root=$work/$1 home=/root clean
    [ "$who" = root ] || home=/home/person
    step "$who: a fresh system"
    cp -a "$work/base" "$root"
    copy_checkout "$root$home/archivebox"
    if [ "$who" = user ]; then chroot "$root" chown -R person:person /home/person; fi
    clean=(env -i HOME="$home" LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
    if [ "$who" = user ]; then clean=(runuser -u person -- "${clean[@]}"); fi
    unshare --mount --pid --fork --kill-child -- "$0" --enter "$root" \
        "${clean[@]}" /bin/bash "$home/archivebox/tests/bare_root.sh" --inside "$stage" "${@:3}" &
    inside=$!
    wait "$inside"
    inside=
    rm -rf --one-file-system "$root"
}

clean_up() {
    if [ -n "${inside:-}" ]; then
        kill -KILL "$inside" 2>/dev/null || true
        wait "$inside" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$work"
}

# --- inside the root -----------------------------------------------------------------------------------------------

# Command lines of processes of this root that are neither this script nor the local web.
others() {
    local folder command
    for folder in /proc/[0-9]*; do
        command=$(tr '\0' ' ' 2>/dev/null <"$folder/cmdline" || true)
        case $command in '' | *bare_root.sh* | *tests/site/serve.py* | 'tr '*) ;; *) echo "${folder#/proc/} $command" ;; esac
    done
}

# Fails if something of ours is still there a while after it should have ended.
expect_nothing_left() {
    local second left
    for second in 1 2 3 4 5 6 7 8 9 10; do
        left=$(others)
        [ -n "$left" ] || return 0
        sleep 1
    done
    printf 'still running after %s s:\n%s\n' "$second" "$left" >&2
    return 1
}

# Fails if a result of the page $1 has failed, as one does that wants for a program, and shows what installers said.
expect_no_failure() {
    bin/archivebox snapshot show "$1" >/tmp/results
    grep -q '"status":"succeeded"' /tmp/results
    grep -E '"status":"(failed|backoff)"' /tmp/results >&2 || return 0
    bin/archivebox process list --type binary --failed >&2
    find data/machines -path '*/.hooks/*.stderr.log' -size +0 -exec tail -n 40 {} + >&2
    return 1
}

answers() {
    python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5).read(1)' "$1" 2>/dev/null
}

try_version() {
    step 'bin/archivebox version'
    [ "$(bin/archivebox version </dev/null)" = "archivebox $(sed -n 's/^__version__ = "\(.*\)"/\1/p' archivebox/__init__.py)" ]
    bin/archivebox version
}

try_add() {
    local site url
    step 'bin/archivebox add'
    python3 tests/site/serve.py --print-url >/tmp/site-url 2>/tmp/site-log &
    site=$!
    for _ in $(seq 100); do
        [ ! -s /tmp/site-url ] || break
        kill -0 "$site" 2>/dev/null || { cat /tmp/site-log >&2; return 1; }
        sleep 0.1
    done
    url=$(cat /tmp/site-url)
    echo "archiving $url"
    bin/archivebox add "$url" </dev/null
    expect_nothing_left
    kill "$site"
    wait "$site" || true
    find data/users -path '*/snapshots/*' -type f -size +0 >/tmp/files
    head -40 /tmp/files
    [ -s /tmp/files ] && [ -s data/index.sqlite3 ]
    expect_no_failure "$url"
}

try_server() {
    local server
    step 'bin/archivebox server'
    bin/archivebox server </dev/null &
    server=$!
    for _ in $(seq 60); do
        ! answers http://127.0.0.1:8000/ || break
        kill -0 "$server"
        sleep 1
    done
    answers http://127.0.0.1:8000/
    kill -TERM "$server"
    wait "$server" || true
    expect_nothing_left
}

try_suite() {
    step 'bin/test'
    # shellcheck disable=SC2065  # our program, not the shell's
    bin/test "$@" </dev/null
}

inside() {
    local stage
    cd "$(dirname "$0")/.."
    while IFS= read -r line; do export "${line?}"; done <"$settings"
    echo "as $(id -un), $(python3 -V), $(command -v pip3 node chromium wget git || echo 'nothing else')"
    if [ "$1" = suite ]; then
        try_suite "${@:2}"
    else
        for stage in version add server; do
            "try_$stage"
            [ "$stage" != "$1" ] || break
        done
    fi
    step "$(id -un): all is well"
}

# --- choice --------------------------------------------------------------------------------------------------------

case ${1:-both} in
--enter) shift && enter "$@" ;;
--inside) shift && inside "$@" ;;
root | user | both)
    [ "$(id -u)" = 0 ] || { echo 'tests/bare_root.sh needs root (debootstrap, mounts)' >&2; exit 2; }
    command -v debootstrap >/dev/null || { echo 'please type: apt-get install debootstrap' >&2; exit 2; }
    case ${2:-server} in version | add | server | suite) ;; *) echo "unknown stage $2" >&2; exit 2 ;; esac
    work=$(mktemp -d -p "${BARE_ROOT_TMP:-/var/tmp}" bare-root.XXXXXX)
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    make_root "$work/base"
    case ${1:-both} in both) people='root user' ;; *) people=$1 ;; esac
    for who in $people; do run_as "$who" "${2:-server}" "${@:3}"; done
    ;;
*)
    echo "usage: tests/bare_root.sh [root | user | both] [version | add | server | suite]" >&2
    exit 2
    ;;
esac

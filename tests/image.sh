#!/bin/bash
# Builds the image of the Dockerfile with podman or docker, on a Debian of debootstrap's instead of a registry's, and tries it.
#
# Usage (as root): [IMAGE_ENGINE=docker] tests/image.sh [build | try | both]
# It needs podman and podman-compose, or docker.io and docker-compose; debootstrap, nginx, curl; and half an hour, mostly for
# Debian's packages. `make image` is `tests/image.sh both`. What is built stays: with podman as localhost/archivebox and
# localhost/archivebox-base, with docker in a folder of this script's own, whose daemon runs as long as the script. What is tried
# has a network of loopback and containers alone: nothing of it needs the internet.
set -Eeuo pipefail
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

checkout=$(cd "$(dirname "$0")/.." && pwd -P)
engine=${IMAGE_ENGINE:-podman}
image=localhost/archivebox
if [ "$engine" = docker ]; then image=archivebox; fi
base=$image-base
suite=${IMAGE_SUITE:-bookworm}
# The mirror that this system has its own packages from.
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/debian* 2>/dev/null || true; } |
    sed -nE 's/^URIs: *(\S+).*/\1/p; s/^deb (\[[^]]*\] )?(\S+) .*/\2/p' | head -1)
profile=$checkout/packaging/seccomp.json
user_files=/usr/local/share/ca-certificates

step() { printf '\n--- %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# Whether a command succeeds within so many seconds.
within() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        if [ "$SECONDS" -ge "$until" ]; then return 1; fi
        sleep 0.2
    done
}

# The network of the host, as the local web listens there.
limits=(--network=host --shm-size=1g)
# What compose.yaml asks for.
hardened=(--security-opt "seccomp=$profile" --security-opt no-new-privileges
    --cap-drop ALL --cap-add CHOWN --cap-add SETGID --cap-add SETPCAP --cap-add SETUID)

run() { "$engine" run --rm "${limits[@]}" "$@"; }

make_base() {
    local root=$work/root name changes=()
    step "a base: debootstrap $suite"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
        { tail -20 "$work/log" >&2; return 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    # As the slim variant of Debian's images is.
    rm -rf "$root"/usr/share/{man,info,locale}/*
    find "$root/usr/share/doc" -type f ! -name copyright -delete
    # What this machine's package clients need to reach their registries; a base from a registry has none of it.
    mkdir -p "$root$user_files"
    find "$user_files" -name '*.crt' -exec cp -L {} "$root$user_files/" \;
    chroot "$root" update-ca-certificates >/dev/null 2>&1
    for name in PIP_CERT PIP_INDEX_URL PIP_DEFAULT_TIMEOUT NODE_EXTRA_CA_CERTS; do
        if [ -n "${!name:-}" ]; then changes+=(--change "ENV $name=${!name}"); fi
    done
    tar -C "$root" -c . | "$engine" import "${changes[@]}" - "$base" >/dev/null 2>&1
    rm -rf "$root"
}

build() {
    local options=(--quiet --network=host --build-arg "BASE=$base" --tag "$image")
    "$engine" image inspect "$base" >/dev/null 2>&1 || make_base
    step 'the image'
    if [ "$engine" = podman ]; then options+=(--isolation=chroot --layers); fi
    "$engine" build "${options[@]}" "$checkout"
    "$engine" images "$image"
    sizes
    if [ "$engine" = docker ]; then build_postgres; fi
}

# PostgreSQL for compose.fleet.yaml: Debian's, with as much of the official image's interface as that file uses.
build_postgres() {
    step 'PostgreSQL'
    mkdir "$work/postgres"
    cat >"$work/postgres/start" <<'SH'
#!/bin/sh
set -eu
export PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
data=/var/lib/postgresql/data
install -d -o postgres -g postgres -m 700 "$data"
run() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ ! -e "$data/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" >/tmp/password
    chown postgres /tmp/password
    run initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --pgdata="$data"
    rm /tmp/password
    echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
    echo "CREATE DATABASE \"$POSTGRES_USER\"" | run postgres --single -D "$data" postgres
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -D "$data" -c listen_addresses='*'
SH
    chmod 755 "$work/postgres/start"
    cat >"$work/postgres/Dockerfile" <<DOCKER
FROM $base
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql
COPY start /usr/local/bin/start
CMD ["start"]
DOCKER
    docker build --quiet --network=host --tag postgres:17 "$work/postgres"
}

# What the image is made of, in MB.
sizes() {
    run --entrypoint sh "$image" -euc '
        size() { name=$1 && shift && echo "$(du -xcsm "$@" 2>/dev/null | tail -1 | cut -f1) $name"; }
        lib=$(echo /usr/lib/*-linux-gnu)
        size all / --exclude=/proc --exclude=/sys --exclude=/dev
        size Chromium /usr/lib/chromium
        size fonts /usr/share/fonts
        size "ArchiveBox and its libraries" /opt/archivebox
        size "programs of plugins" /var/lib/archivebox
        size "Node and npm" /opt/npm "$lib"/libnode.* /usr/share/nodejs
        size "git and Perl" /usr/lib/git-core /usr/share/perl /usr/bin/git /usr/bin/perl "$lib"/perl "$lib"/libperl.*
        size "Python" /usr/lib/python3* /usr/bin/python3.* /usr/share/python-wheels
        size "other libraries, most for ffmpeg and Chromium" "$lib"
    '
}

# --- trying it -------------------------------------------------------------------------------------------------------

# Containers may have no more than this process has itself.
limit_podman() {
    printf '[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nofile=%s:%s", "nproc=32768:32768"]\n' \
        "$(ulimit -Hn)" "$(ulimit -Hn)" >"$work/containers.conf"
    export CONTAINERS_CONF=$work/containers.conf
}

# A daemon in the namespaces of this script; what it has built stays.
begin_docker() {
    local folder=${IMAGE_DOCKER:-/var/lib/archivebox-image}
    export DOCKER_HOST=unix://$work/docker.sock
    local options=(--host "$DOCKER_HOST" --data-root "$folder" --exec-root "$work/docker" --pidfile "$work/docker.pid"
        --exec-opt native.cgroupdriver=cgroupfs)
    if [ "$1" = build ]; then options+=(--bridge=none --iptables=false); fi # in the network of this machine
    dockerd "${options[@]}" >"$work/docker.log" 2>&1 &
    daemon=$!
    within 20 docker info >/dev/null 2>&1 || fail "docker does not answer: $(tail -5 "$work/docker.log")"
}

begin_site() {
    python3 "$checkout/tests/site/serve.py" --print-url >"$work/url" 2>"$work/site.log" &
    site=$!
    within 10 test -s "$work/url" || fail "the local web does not answer: $(cat "$work/site.log")"
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

# What the image is to have, though it was made small: renderers of pages, and libraries without what is not loaded of them.
try_programs() {
    step 'programs, WebGL, and libraries'
    cat >"$work/webgl.html" <<'HTML'
<title>none</title><script>
const context = document.createElement("canvas").getContext("webgl2");
document.title = context.getExtension("WEBGL_debug_renderer_info") && context.getParameter(0x9246);
</script>
HTML
    run --user 911:911 -v "$work/webgl.html:/tmp/webgl.html:ro" "$image" bash -euc '
        node --version; npm --version; git --version; ffmpeg -version | head -1; ffprobe -version | head -1
        chromium --headless --no-sandbox --user-data-dir=/tmp/profile --dump-dom file:///tmp/webgl.html 2>/dev/null | grep "<title>"
        cd /opt/archivebox/lib/python3*/site-packages
        find . -name "*.so" ! -path "*.libs/*" ! -name "*_imagingtk*" | sed -E "s:^\./::; s:\.(cpython|abi3|so).*::; s:/:.:g" >/tmp/modules
        python -c "import importlib, psycopg; [importlib.import_module(name) for name in open(\"/tmp/modules\").read().split()]"
        for script in hi th ar he ja ko zh ka am ta; do fc-list ":lang=$script" family | grep -q . || { echo "no font: $script"; exit 1; }; done
    ' >"$work/out" || fail "$(cat "$work/out")"
    cat "$work/out"
    grep -q SwiftShader "$work/out" || fail 'WebGL'
}

# Where a volume lies below /data, as users/ of compose.fleet.yaml does, which the engine makes as root.
try_volume() {
    step 'a volume for users/'
    "$engine" volume create "archivebox-$$" >/dev/null
    run "${hardened[@]}" -v "archivebox-$$:/data/users" "$image" sh -c 'touch /data/users/file && stat -c %u /data/users/file' ||
        fail 'the volume cannot be written to'
    "$engine" volume rm "archivebox-$$" >/dev/null
}

compose() { (cd "$work/compose" && "$engine-compose" "$@" 2>>"$work/compose.log"); }

# Docker checks by itself, every 30 seconds; podman does where systemd has it do so.
is_healthy() {
    if [ "$engine" = podman ]; then podman healthcheck run "$1" >/dev/null 2>&1; return; fi
    [ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" = healthy ]
}

# compose.yaml over the collection of try_add, and nginx before both ports as docs/reverse-proxy.md has it, but without TLS.
try_compose() {
    local folder=$work/compose name visit
    step 'compose.yaml, behind a reverse proxy'
    mkdir "$folder" "$work/nginx" && mv "$work/new" "$folder/data"
    cp "$checkout/packaging/compose.yaml" "$checkout/packaging/seccomp.json" "$folder"
    cat >"$folder/override.yaml" <<'YAML'
services:
  archivebox:
    environment:
      ADMIN_USERNAME: alice
      ADMIN_PASSWORD: secret
      BASE_URL: http://archive.example.org
      REPLAY_URL: http://*.pages.example.org
      TRUSTED_PROXIES: 10.0.0.0/8
YAML
    compose -f compose.yaml -f override.yaml up --no-build --detach >"$work/out" || { cat "$work/compose.log"; fail 'compose.yaml'; }
    name=$("$engine" ps --format '{{.Names}}' | head -1)
    within 120 is_healthy "$name" || { "$engine" logs "$name"; fail 'the check of compose.yaml finds no health'; }
    "$engine" exec "$name" archivebox-entrypoint doctor >"$work/out"
    grep '"name":"sandbox","state":"ok"' "$work/out" || fail 'Chromium has no sandbox'

    {
        echo "daemon off; pid $work/nginx/pid; error_log stderr; events {} http { access_log off;"
        sed -n '/^```nginx$/,/^```$/p' "$checkout/docs/reverse-proxy.md" | sed -E '/^```/d; /ssl_certificate/d; s/listen 443 ssl/listen 127.0.0.1:80/'
        echo "}"
    } >"$work/nginx/conf"
    nginx -p "$work/nginx" -c "$work/nginx/conf" 2>"$work/nginx/log" &
    proxy=$!
    within 10 answers http://127.0.0.1:80/ || fail "nginx does not answer: $(cat "$work/nginx/log")"
    visit=(curl --silent --show-error --max-time 60 --fail --connect-to ::127.0.0.1:80 --cookie "$work/cookies" --cookie-jar "$work/cookies")
    "${visit[@]}" http://archive.example.org/login/ >"$work/page" || { cat "$work/nginx/log"; fail 'the log-in page'; }
    "${visit[@]}" --location --header 'Origin: http://archive.example.org' --data-urlencode username=alice --data-urlencode password=secret \
        --data-urlencode "csrfmiddlewaretoken=$(sed -nE 's/.*name="csrfmiddlewaretoken" value="([^"]*)".*/\1/p' "$work/page" | head -1)" \
        http://archive.example.org/login/ >"$work/page" || fail 'logging in'
    "${visit[@]}" --location "http://archive.example.org/web/latest/$(cat "$work/url")" >"$work/page" || fail 'the page of a snapshot'
    frame=$(grep -oE 'http://[a-z0-9-]+\.pages\.example\.org[^"]*' "$work/page" | head -1 | sed 's/&amp;/\&/g') || true
    [ "$frame" ] || fail "no frame: $(cat "$work/page")"
    "${visit[@]}" --location "$frame" >"$work/page" && grep -qi '<html' "$work/page" || fail "nothing at $frame"
    echo "$frame"
}

fleet() { (cd "$work/fleet" && docker-compose -p fleet -f compose.fleet.yaml -f override.yaml "$@" 2>>"$work/fleet.log"); }

has_page_open() { docker top "$1" | grep 'chromium.*type=renderer' >/dev/null; }

are_sealed() {
    fleet exec -T server archivebox-entrypoint list --status sealed </dev/null >"$work/sealed"
    [ "$(grep -c '"type":"Snapshot"' "$work/sealed")" = "$1" ]
}

# compose.fleet.yaml: a server and three workers, one of which is killed while it archives; all pages are archived once.
try_fleet() {
    local folder=$work/fleet urls=() path
    step 'compose.fleet.yaml, with three workers, one of which is killed'
    mkdir "$folder"
    cp "$checkout/packaging/compose.fleet.yaml" "$checkout/packaging/seccomp.json" "$folder"
    cat >"$folder/override.yaml" <<YAML
services:
  site:
    image: $image
    entrypoint: [python3, /checkout/tests/site/serve.py, --host, 0.0.0.0, --port, "80"]
    volumes: ["$checkout:/checkout:ro"]
    networks: {default: {aliases: [a.test, b.test, c.test, d.test, e.test, f.test]}} # of one host four pages at a time
  server: &private
    environment: {PRIVATE_NETWORK_ALLOWLIST: "172.16.0.0/12,192.168.0.0/16"}
  worker: *private
YAML
    export POSTGRES_PASSWORD=secret SECRET_KEY=0123456789abcdef0123456789abcdef0123456789abcdef
    fleet down --volumes >/dev/null || fail "$(cat "$work/fleet.log")" # of a trial that was killed
    fleet up --no-build --detach --scale worker=3 >"$work/out" || { cat "$work/fleet.log"; fail 'compose.fleet.yaml'; }
    within 180 answers http://127.0.0.1:8000/health/ || { fleet logs; fail 'the server of the fleet does not answer'; }
    for path in {a,b,c,d,e,f}.test/{colour,article,unicode,tall}; do urls+=("http://$path"); done
    fleet exec -T server archivebox-entrypoint add --bg "${urls[@]}" >"$work/out" || { cat "$work/out"; fail 'add'; }
    within 60 has_page_open fleet_worker_2 || fail 'the second worker opened no page'
    docker kill --signal KILL fleet_worker_2 >/dev/null
    within 600 are_sealed "${#urls[@]}" || { fleet logs; fail "$(cat "$work/sealed")"; }
    fleet exec -T server archivebox-entrypoint archiveresult list --plugin screenshot </dev/null >"$work/out"
    [ "$(grep -c '"status":"succeeded"' "$work/out")" = "${#urls[@]}" ] || fail "$(cat "$work/out")"
    fleet exec -T server archivebox-entrypoint sh -c 'ls users/*/snapshots/*/*/*/screenshot/screenshot.*' </dev/null >"$work/out"
    [ "$(wc -l <"$work/out")" = "${#urls[@]}" ] || fail "$(cat "$work/out")"
    printf '%s pages on %s machines, %s of them begun again\n' "${#urls[@]}" 4 "$(grep -vc '"fence":1,' "$work/sealed")"
}

has_no_zombie() { ! "$engine" exec "$1" sh -c 'cat /proc/[0-9]*/stat' | grep ' Z ' >/dev/null; }
has_logged() { "$engine" logs "$1" 2>&1 | grep "$2" >/dev/null; }

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
    run --security-opt "seccomp=$work/none.json" -v "$work/new:/data" "$image" add --index-only "$(cat "$work/url")" 2>"$work/err"
    grep 'Chromium runs without its sandbox' "$work/err" || fail 'add says nothing of the sandbox'
    "$engine" run --detach --name "$name" "${limits[@]}" --cap-drop ALL --cap-add CHOWN --cap-add SETGID --cap-add SETPCAP \
        --cap-add SETUID --security-opt "seccomp=$work/none.json" -e ADMIN_USERNAME=alice -e ADMIN_PASSWORD=secret \
        -e CSRF_TRUSTED_ORIGINS=https://archive.example.org -e BIND_ADDR=127.0.0.1:8764 -v "$work/new:/data" "$image" >/dev/null
    within 120 answers http://127.0.0.1:8764/health/ || { "$engine" logs "$name"; fail 'the server does not answer'; }
    within 60 has_logged "$name" 'Log in' || fail 'no link to log in'
    orphan=$("$engine" exec "$name" sh -c 'sleep 10 >/dev/null & echo $!')
    "$engine" exec "$name" grep '^PPid:' "/proc/$orphan/status" | grep -w 1 || fail 'the parent of an orphan is not process 1'
    sleep 12
    if "$engine" exec "$name" test -e "/proc/$orphan"; then fail 'an orphan was not reaped'; fi
    within 5 has_no_zombie "$name" || fail 'a zombie is left'
    "$engine" stop --time 60 "$name" >/dev/null
    status=$("$engine" inspect --format '{{.State.ExitCode}}' "$name")
    "$engine" logs "$name" >"$work/out" 2>&1
    "$engine" rm "$name" >/dev/null
    cat "$work/out"
    [ "$status" = 143 ] || fail "the server ended with status $status"
    grep -q 'Chromium runs without its sandbox' "$work/out" || fail 'nothing was said of the sandbox'
    grep -q 'CSRF_TRUSTED_ORIGINS has no effect' "$work/out" || fail 'nothing was said of CSRF_TRUSTED_ORIGINS'
    grep -q 'Log in as alice' "$work/out" || fail 'ADMIN_USERNAME'
}

clean_up() {
    if [ -e "$work/compose/override.yaml" ]; then compose -f compose.yaml -f override.yaml down >/dev/null || true; fi
    if [ -e "$work/fleet/override.yaml" ]; then fleet down --volumes >/dev/null || true; fi
    kill ${site:+"$site"} ${proxy:+"$proxy"} ${daemon:+"$daemon"} 2>/dev/null || true
    if [ "${daemon:-}" ]; then
        wait "$daemon" || true
        umount "$work"/docker/netns/* 2>/dev/null || true
    fi
    rm -rf --one-file-system "$work"
}

[ "$(id -u)" = 0 ] || { echo 'tests/image.sh needs root (debootstrap, mounts)' >&2; exit 2; }
for program in "$engine" "$engine-compose" debootstrap nginx curl; do
    command -v "$program" >/dev/null || { echo "please install $program" >&2; exit 2; }
done
if [ "${1:-both}" = both ]; then
    "$0" build
    exec "$0" try
fi
# A mount namespace, where control groups of version 1 are mounted beside version 2: crun wants the latter alone. For trials a
# network namespace, too.
if [ -z "${IMAGE_NAMESPACE:-}" ]; then
    namespaces=(--mount)
    if [ "$1" = try ]; then namespaces+=(--net); fi
    # shellcheck disable=SC2016  # expanded inside
    IMAGE_NAMESPACE=yes exec unshare "${namespaces[@]}" sh -euc '
        if [ -d /sys/fs/cgroup/memory ]; then umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; fi
        if [ "$1" = try ]; then ip link set lo up; fi
        exec "$0" "$1"' "$0" "$1"
fi
work=$(mktemp -d -p "${IMAGE_TMP:-/var/tmp}" image.XXXXXX)
chmod 755 "$work"
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
case $engine in
podman) limit_podman ;;
docker) begin_docker "$1" ;;
*) fail "no engine that is known here: $engine" ;;
esac
case $1 in
build) build ;;
try)
    begin_site
    try_programs
    try_add
    try_owners
    try_volume
    try_import
    try_server
    try_compose
    if [ "$engine" = docker ]; then compose -f compose.yaml -f override.yaml down >/dev/null && try_fleet; fi
    step 'all is well'
    ;;
*) echo 'usage: tests/image.sh [build | try | both]' >&2; exit 2 ;;
esac

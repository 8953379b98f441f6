#!/usr/bin/env bash
# Keep a mirror of the repository that the address names: all branches and tags, without a working copy.
. "$HOOK_BASE/hook.sh" "$@"

partial=.partial-repository.git
name=${opt_url%/} && name=${name##*/} && name=${name%.git}.git

arguments=()
while IFS= read -r word; do
  arguments+=("$word")
done < <(list GIT_ARGS '["--mirror", "--quiet"]'; list GIT_ARGS_EXTRA '[]')

kilobytes() { # SIZE: of 750m, 2g or bytes; in units of 1,024, as ulimit wants them
  local number=${1%[kKmMgG]} unit=1
  case $1 in
    *[gG]) unit=1000000000 ;;
    *[mM]) unit=1000000 ;;
    *[kK]) unit=1000 ;;
  esac
  echo $(((number * unit + 1023) >> 10))
}

on_stop 'kill "$program" 2>/dev/null; rm -rf "$partial" .stderr; log "Told to stop before the repository was here."; exit 1'
rm -rf "$partial"
# Nothing of the person's own settings, passwords or keys, no question, and no other protocol by a redirect.
export GIT_ALLOW_PROTOCOL=https:http GIT_TERMINAL_PROMPT=0 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
export HOME=/nowhere
[[ $(setting CHECK_SSL_VALIDITY true) == false ]] && export GIT_SSL_NO_VERIFY=1
limit=$(kilobytes "$(setting GIT_MAX_SIZE 2g)")
((limit)) && ulimit -f "$limit"
run "$(setting GIT_BINARY git)" clone "${arguments[@]}" -- "${opt_url%/}" "$partial" 2>.stderr
status=$?
said=$(cat .stderr)
log "$said"
rm -f .stderr
case $status in
  0) rm -rf "./$name" && mv -- "$partial" "./$name" && succeeded "$name" ;;
  126 | 127) misconfigured "The program git is not installed. Install it with: archivebox install git" ;;
esac
rm -rf "$partial"
case $said in
  *"not found"* | *"could not read Username"* | *"not valid"*) noresults "there is no repository to be had at this address" ;;
  *"RPC failed"* | *"early EOF"*) try_again "the connection broke off" ;;
  *"File too large"* | *"signal 25"* | *"invalid index-pack output"*) failed "the repository is larger than GIT_MAX_SIZE" ;;
  *) try_again "git could not fetch the repository" ;;
esac

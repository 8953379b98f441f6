# What hooks in bash source, as in `. "$HOOK_BASE/hook.sh" "$@"`: their arguments as $opt_url, $opt_snapshot_id and so
# on, settings, records, endings, and `run` for programs that are ended with the hook. Works with bash 3.2 and later.

while (($#)); do
  case $1 in
    --*=*) word=${1#--} && printf -v "opt_$(tr - _ <<<"${word%%=*}")" %s "${word#*=}" ;;
    --*) word=${1#--} && printf -v "opt_$(tr - _ <<<"$word")" %s "${2-}" && (($# > 1)) && shift ;;
  esac
  shift
done

setting() { # NAME DEFAULT: the value of a setting; '' counts as not set
  printf %s "${!1:-${2-}}"
}

list() { # NAME DEFAULT: the texts of a JSON array, one a line; a text with a quote or backslash in it is not for bash
  local left=$(setting "$1" "$2")
  while [[ $left =~ ^[[:space:],[]*\"([^\"\\]*)\"(.*)$ ]]; do
    printf '%s\n' "${BASH_REMATCH[1]}"
    left=${BASH_REMATCH[2]}
  done
}

seconds() { # PLUGIN DEFAULT: <PLUGIN>_TIMEOUT, else TIMEOUT, else 60
  setting "$1_TIMEOUT" "$(setting TIMEOUT "${2:-60}")"
}

json() { # TEXT: as a JSON string; control characters but newline, return and tab are left out
  local text=$1 back='\' quote='"'
  text=${text//"$back"/"$back$back"} text=${text//"$quote"/"$back$quote"}
  text=${text//$'\n'/"${back}n"} text=${text//$'\r'/"${back}r"} text=${text//$'\t'/"${back}t"}
  printf '"%s"' "${text//[[:cntrl:]]/}"
}

log() { printf '%s\n' "$*" >&2; }
ready() { echo '{"type":"Ready"}'; }
waiting() { echo '{"type":"Waiting"}'; }
found() { echo '{"type":"Snapshot","url":'"$(json "$1")}"; }
result() { # STATUS TEXT EXIT [RETRY [REASON]]: the final record, and the end
  local more="${4:+,\"retry\":\"$4\"}${5:+,\"reason\":\"$5\"}"
  echo '{"type":"ArchiveResult","status":"'"$1"'","output_str":'"$(json "$2")$more}"
  exit "$3"
}
succeeded() { result succeeded "$1" 0; }
noresults() { result noresults "$1" 0; }
skipped() { result skipped "$1" 10; }
failed() { result failed "$1" 0 "" "${2-}"; }                   # TEXT [REASON]: it ran, and it was not to be had
misconfigured() { log "$1" && result failed "$1" 1; }           # a person has to act on it
try_again() { log "$1" && result failed "$1" 1 later "${2-}"; } # TEXT [REASON]: it may pass by itself: later again
on_stop() { trap 'trap "" TERM INT; '"$1; exit 0" TERM INT; }   # COMMANDS on the first TERM or INT

exec 9>&1 # where records go, wherever the output of a program does
now() { # seconds since 1970 with a fraction, which bash knows from version 5 on
  local moment=${EPOCHREALTIME:-$(date +%s).000}
  printf %s "${moment/,/.}"
}
new_id() { # SECONDS: a UUIDv7 (RFC 9562), which begins with their milliseconds
  local part=${1#*.} && local ms=${1%.*}${part:0:3}
  printf '%08x-%04x-7%03x-%04x-%04x%04x%04x' $((ms >> 16)) $((ms & 65535)) $((RANDOM & 4095)) \
    $((RANDOM & 16383 | 32768)) $RANDOM $RANDOM $RANDOM
}
run() { # COMMAND…: on record; bash takes no signal while a program is in front, so it runs behind and is waited for
  local began=$(now) path=$(type -P "$1") word words= record code
  for word in "${path:-$1}" "${@:2}"; do words+=,$(json "$word"); done
  record='{"type":"Process","id":"'$(new_id "$began")'","cmd":['${words#,}'],"pwd":'$(json "$PWD")
  "$@" </dev/null 9>&- &
  program=$!
  record+=',"pid":'$program',"started_at":'$began
  echo "$record}" >&9
  wait "$program"
  code=$?
  echo "$record"',"exit_code":'$((code > 128 ? 128 - code : code))',"ended_at":'"$(now)}" >&9
  return $code
}

#!/bin/bash
# Count the words of the page that the dom plugin saved.
. "$HOOK_BASE/hook.sh" "$@"

saved=../dom/output.html
[ -s "$saved" ] || skipped "The dom plugin saved no HTML of $opt_url."
words=$(sed 's/<[^>]*>/ /g' "$saved" | wc -w)
[ "$words" -ge "$(setting WORD_COUNT_MIN)" ] || noresults "The page has only $words words."

echo "$words words" >.word_count.tmp && mv .word_count.tmp word_count.txt
succeeded word_count.txt

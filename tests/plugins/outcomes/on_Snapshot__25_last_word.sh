# The last word counts, and text between records is only text.
echo '{"type": "ArchiveResult", "status": "failed"}'
echo working
echo "{ not a record"
printf '{"type": "ArchiveResult", "status": "noresults"}'

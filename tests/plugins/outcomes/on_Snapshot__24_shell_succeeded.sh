# A shell hook says the same.
echo '{"type": "ArchiveResult", "status": "succeeded", "output_str": "said succeeded"}'

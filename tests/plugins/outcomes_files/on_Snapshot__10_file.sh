# A file and no record: it worked.
echo kept > page.txt

#!/nowhere/to/be/found --really
echo never

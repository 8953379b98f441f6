# Keeps the step open until the hook that ends by itself has done so.
while kill -0 "$(cat ../.hooks/on_Snapshot__16_ends_itself.bg.py.*.pid)" 2>/dev/null; do sleep 0.05; done

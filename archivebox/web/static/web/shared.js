// What is open ends with its link: asks every ten seconds whether it still holds, and shows what the server says if not.
"use strict";
setInterval(async () => {
  const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" }).catch(() => null);
  if (answer?.status === 404) location.reload();
}, 10_000);

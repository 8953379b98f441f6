const MADE = {
  "/apps/worker/made.json": ["application/json", JSON.stringify({words: "These words were made by the worker, and by no server"})],
  "/apps/worker/made.svg": ["image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="160"><rect width="320" height="160" fill="#2a9d8f"/><circle cx="160" cy="80" r="60" fill="#e9c46a"/></svg>'],
};
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const made = MADE[new URL(event.request.url).pathname];
  if (made) event.respondWith(new Response(made[1], {headers: {"Content-Type": made[0]}}));
});

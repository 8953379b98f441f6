addEventListener("install", event => event.waitUntil(
  caches.open("v1").then(cache => cache.add("/page.txt?precached")).then(() => skipWaiting())));
addEventListener("activate", event => event.waitUntil(clients.claim()));
addEventListener("fetch", event => {
  const path = new URL(event.request.url).pathname;
  if (path === "/network/by-service-worker") event.respondWith(fetch("/data.json?by-service-worker"));
  if (path === "/network/made") event.respondWith(new Response(`made by the service worker for ${event.request.url}`));
  if (path === "/page.txt") event.respondWith(fetch(event.request));
});

/**
 * The service worker: what the page needs is kept, so that it starts without a network. `files.js` lists it, with a
 * version of all of it (`tienlen_table.packing`). A page never gets files of two versions: a cache has those of one.
 */
importScripts("files.js");
const { version, files, networks } = self.PAGE;
const CACHE = `page-${version}`;
const NETWORKS = "networks"; // the page puts them there, too: it reads them before this worker runs

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(forgetOthers()));
addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  if (method !== "GET" || !url.startsWith(registration.scope)) return;
  if (url.endsWith(".safetensors")) event.respondWith(network(event.request));
  else event.respondWith(fetch(event.request).catch(() => kept(mode === "navigate" ? "./" : event.request)));
});

async function keep() {
  const cache = await caches.open(CACHE);
  await cache.addAll(files.map((name) => new Request(name, { cache: "no-cache" })));
  await skipWaiting();
}

async function forgetOthers() {
  for (const name of await caches.keys())
    if (name.startsWith("page-") && name !== CACHE) await caches.delete(name);
  const weights = await caches.open(NETWORKS);
  for (const { url } of await weights.keys())
    if (!networks.some((name) => url.endsWith(`/${name}`))) await weights.delete(url);
  await clients.claim();
}

/** The weights of a network: its name has its version, so what is kept is not asked for again. */
const network = async (request) => (await caches.match(request, { cacheName: NETWORKS })) ?? fetch(request);

const kept = async (request) =>
  (await caches.match(request, { cacheName: CACHE, ignoreSearch: true })) ?? Response.error();

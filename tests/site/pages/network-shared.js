importScripts("/network/service.js?imported-by-shared-worker");
const said = fetch("/data.json?of-shared-worker").then(answer => answer.text());
addEventListener("connect", ({ports: [port]}) => said.then(() => port.postMessage("done")));

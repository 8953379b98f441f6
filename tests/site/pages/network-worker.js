importScripts("/network/service.js?imported");
fetch("/data.json?of-worker").then(answer => answer.text()).then(() => postMessage("done"));

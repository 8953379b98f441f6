document.documentElement.dataset.extension = chrome.runtime.getManifest().name;

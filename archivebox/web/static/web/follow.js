// Go on to the page that was looked for, with the part of it that the link names and the server is not told.
location.replace(document.querySelector("a").href + location.hash);

// Show the part of the archived page that the address names.
const frame = document.querySelector(".archived-frame");
if (location.hash) frame.src += location.hash;

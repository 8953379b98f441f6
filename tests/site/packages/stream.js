// A stream that a script gives to the video element (Media Source Extensions), paused in its middle.
import Hls from "hls.js/light";

const video = document.querySelector("video");
const state = document.getElementById("state");
const stream = new Hls({ enableWorker: false, startPosition: 0 });
stream.on(Hls.Events.ERROR, (_, error) => { if (error.fatal) state.textContent = `Stopped: ${error.details}`; });
video.addEventListener("loadedmetadata", () => { video.currentTime = 1.5; });
video.addEventListener("seeked", () => { state.textContent = `Stream of ${video.duration.toFixed(0)} seconds is ready`; });
stream.loadSource("/apps/stream.m3u8");
stream.attachMedia(video);

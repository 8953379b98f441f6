// A route that is loaded when it is needed.
import { ref } from "vue/dist/vue.esm-bundler.js";
import { askAbout } from "./shop.js";

export default {
  template: `<p v-if="!about">Loading</p>
    <article v-else id="about"><h2>{{ about.title }}</h2><p>{{ about.text }}</p></article>`,
  setup() {
    const about = ref(null);
    askAbout().then((it) => { about.value = it; });
    return { about };
  },
};

// Vue with its template compiler (which needs eval) and router; the text about the shop is a module of its own.
import { createApp, ref } from "vue/dist/vue.esm-bundler.js";
import { createRouter, createWebHistory } from "vue-router";
import { askItem, askItems, fetchAhead } from "./shop.js";

const Items = {
  template: `<p v-if="!items">Loading items</p><ul v-else id="items"><li v-for="item in items" :key="item.id">
    <img :src="item.picture" alt="" width="80" height="60">
    <h2><router-link :to="'/items/' + item.id">{{ item.name }}</router-link></h2>
    <p>{{ item.price }} crowns</p><button :data-item="item.id" @click="show(item.id)">Details</button>
    <p v-if="details && details.id === item.id" id="details">{{ details.description }}</p></li></ul>`,
  setup() {
    const items = ref(null);
    const details = ref(null);
    askItems().then((it) => { items.value = it; });
    fetchAhead();
    return { items, details, show: (id) => askItem(id).then((it) => { details.value = it; }) };
  },
};
const Item = {
  template: `<p v-if="!item">Loading the item</p><article v-else id="item"><h2>{{ item.name }}</h2>
    <img :src="item.picture" alt="" width="80" height="60"><p>{{ item.description }}</p>
    <p>{{ item.price }} crowns</p></article>`,
  props: ["id"],
  setup(props) {
    const item = ref(null);
    askItem(props.id).then((it) => { item.value = it; });
    return { item };
  },
};
const About = () => import("./vue-about.js");
const routes = [
  { path: "/", component: Items },
  { path: "/items/:id", component: Item, props: true },
  { path: "/about", component: About },
];
const template = `<header><h1>Harbour shop in Vue</h1><nav><router-link to="/">Items</router-link>
  <router-link to="/about" id="to-about">About</router-link></nav></header><main><router-view></router-view></main>`;
createApp({ template }).use(createRouter({ history: createWebHistory("/apps/vue/"), routes })).mount("#app");
About();

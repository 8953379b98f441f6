// What every application asks its site for. The details and the text about the shop are fetched ahead, as many sites do.
async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
export const askItems = () => ask("/api/shop/items");
export const askItem = (id) => ask(`/api/shop/items/${id}`);
export const askAbout = () => ask("/api/shop/about");
export const fetchAhead = () => Promise.all([askItem(1), askItem(2), askAbout()]);

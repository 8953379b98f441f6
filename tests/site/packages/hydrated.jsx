// A page that the server has rendered, which Preact makes live: with the same data, and the same markup.
import { useEffect, useState } from "preact/hooks";
import { askAbout, askItem, fetchAhead } from "./shop.js";

const ROOT = "/apps/hydrated";

function Items({ items }) {
  const [details, setDetails] = useState(null);
  return (
    <ul id="items">
      {items.map((item) => (
        <li key={item.id}>
          <img src={item.picture} alt="" width="80" height="60" />
          <h2>{item.name}</h2>
          <p>{item.price} crowns</p>
          <button data-item={item.id} onClick={() => askItem(item.id).then(setDetails)}>Details</button>
          {details?.id === item.id && <p id="details">{details.description}</p>}
        </li>
      ))}
    </ul>
  );
}

export function Shop({ items }) {
  const [isLive, setLive] = useState(false);
  const [about, setAbout] = useState(null);
  useEffect(() => {
    setLive(true);
    fetchAhead();
  }, []);
  async function go(event) {
    event.preventDefault();
    history.pushState({}, "", event.currentTarget.href);
    setAbout(await askAbout());
  }
  return (
    <>
      <header>
        <h1>Harbour shop, rendered by its server</h1>
        <nav><a href={`${ROOT}/`}>Items</a> <a href={`${ROOT}/about`} id="to-about" onClick={go}>About</a></nav>
      </header>
      <main>
        {about ? <article id="about"><h2>{about.title}</h2><p>{about.text}</p></article> : <Items items={items} />}
        <p id="state">{isLive ? "Made live by its scripts" : "Not live yet"}</p>
      </main>
    </>
  );
}

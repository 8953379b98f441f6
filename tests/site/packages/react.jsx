// React with a router: routes, effects that fetch, strict mode off so that everything is asked for once.
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { createBrowserRouter, Link, Outlet, RouterProvider, useParams } from "react-router";
import { askAbout, askItem, askItems, fetchAhead } from "./shop.js";

function useAnswer(ask, key) {
  const [answer, setAnswer] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    setAnswer(null);
    ask(key).then((it) => isCurrent && setAnswer(it));
    return () => {
      isCurrent = false;
    };
  }, [ask, key]);
  return answer;
}

function Layout() {
  return (
    <>
      <header>
        <h1>Harbour shop in React</h1>
        <nav>
          <Link to="/">Items</Link> <Link to="/about" id="to-about">About</Link>
        </nav>
      </header>
      <main><Outlet /></main>
    </>
  );
}

function Items() {
  const items = useAnswer(askItems);
  const [details, setDetails] = useState(null);
  useEffect(() => void fetchAhead(), []);
  if (!items) return <p>Loading items</p>;
  return (
    <ul id="items">
      {items.map((item) => (
        <li key={item.id}>
          <img src={item.picture} alt="" width="80" height="60" />
          <h2><Link to={`/items/${item.id}`}>{item.name}</Link></h2>
          <p>{item.price} crowns</p>
          <button data-item={item.id} onClick={() => askItem(item.id).then(setDetails)}>Details</button>
          {details?.id === item.id && <p id="details">{details.description}</p>}
        </li>
      ))}
    </ul>
  );
}

function Item() {
  const item = useAnswer(askItem, useParams().id);
  if (!item) return <p>Loading the item</p>;
  return (
    <article id="item">
      <h2>{item.name}</h2>
      <img src={item.picture} alt="" width="80" height="60" />
      <p>{item.description}</p>
      <p>{item.price} crowns</p>
    </article>
  );
}

function About() {
  const about = useAnswer(askAbout);
  if (!about) return <p>Loading</p>;
  return <article id="about"><h2>{about.title}</h2><p>{about.text}</p></article>;
}

const children = [
  { index: true, Component: Items },
  { path: "items/:id", Component: Item },
  { path: "about", Component: About },
];
const router = createBrowserRouter([{ path: "/", Component: Layout, children }], { basename: "/apps/react" });
createRoot(document.getElementById("app")).render(<RouterProvider router={router} />);

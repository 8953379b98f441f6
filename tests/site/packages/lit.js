// Components with shadow roots: open, open within open, and closed, each with text, a link and styles of its own.
import { css, html, LitElement } from "lit";

class HarbourBadge extends LitElement {
  static properties = { label: {} };
  static styles = css`span { background: #264653; color: #ffffff; padding: 4px 10px; }`;
  render() {
    return html`<span>${this.label} <slot></slot></span>`;
  }
}
class HarbourCard extends LitElement {
  static properties = { items: { state: true } };
  static styles = css`:host { display: block; border: 6px solid #2a9d8f; padding: 16px; margin: 16px 0 } h2 { color: #e76f51 }`;
  constructor() {
    super();
    this.items = [];
  }
  async connectedCallback() {
    super.connectedCallback();
    this.items = await (await fetch("/api/shop/items")).json();
  }
  render() {
    return html`<h2>Inside an open shadow root</h2><p><a href="/article">A link within the open root</a></p>
      <harbour-badge label="Nested badge">and its slotted words</harbour-badge>
      <ol>${this.items.map((item) => html`<li>${item.name}</li>`)}</ol>`;
  }
}
class HarbourVault extends LitElement {
  static styles = css`p { background: #e9c46a; padding: 16px; margin: 0 }`;
  createRenderRoot() {
    const root = this.attachShadow({ mode: "closed" });
    root.adoptedStyleSheets = [HarbourVault.styles.styleSheet];
    return root;
  }
  render() {
    return html`<p>Locked in a closed shadow root, <a href="/colour">with a link of its own</a></p>`;
  }
}
customElements.define("harbour-badge", HarbourBadge);
customElements.define("harbour-card", HarbourCard);
customElements.define("harbour-vault", HarbourVault);

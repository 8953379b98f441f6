// What speaks for a check of visitors or for a log-in form in the document that is shown.
(() => {
  const text = (document.body?.innerText ?? "").trim();
  const has = (selector) => Boolean(document.querySelector(selector));
  const shows = (selector) => [...document.querySelectorAll(selector)].some((one) => one.getClientRects().length > 0);
  const inline = [...document.scripts].filter((one) => !one.src).map((one) => one.text).join("\n").slice(0, MOST);
  const checks = {
    Cloudflare: () => typeof _cf_chl_opt !== "undefined" || has("#challenge-form, #challenge-running, #challenge-stage"),
    DataDome: () => has("script[src*='captcha-delivery.com'], iframe[src*='captcha-delivery.com']"),
    HUMAN: () => has("#px-captcha, #px-captcha-wrapper"),
    Imperva: () => has("iframe#main-iframe[src*='_Incapsula_Resource']"),
    "AWS WAF": () => typeof gokuProps !== "undefined",
    Akamai: () => has("#sec-if-cpt-container, #sec-cpt-if"),
    Anubis: () => has("script#anubis_challenge"),
    Sucuri: () => inline.includes("sucuri_cloudproxy_js"),
    "DDoS-Guard": () => has("script[src*='/.well-known/ddos-guard/js-challenge']"),
  };
  const timer = "\\bset(?:Timeout|Interval)\\b";
  const goes = "\\blocation\\s*(?:\\.\\s*(?:reload|replace|assign)\\s*\\(|(?:\\.\\s*href\\s*)?=[^=])";
  const refresh = document.querySelector("meta[http-equiv=refresh i]")?.content ?? "";
  return {
    url: location.href,
    title: document.title,
    text: text.slice(0, MOST),
    check: Object.keys(checks).find((name) => checks[name]()) ?? "",
    refresh: refresh ? parseFloat(refresh) || 0 : null,
    timer: new RegExp(`${timer}[^]{0,300}${goes}|${goes}[^]{0,300}${timer}`).test(inline),
    password: shows("input[type=password]"),
    user: shows("input[type=email], input[autocomplete~=username], input[name=username i], input[name=user i],"
      + " input[name=login i], input[name=email i], input[name=identifier i], input[name=loginfmt i]"),
  };
})()

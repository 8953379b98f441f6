export const GREETING = "Words of a module from another origin";
if (import.meta.url.endsWith("?said")) {
  document.body.append(Object.assign(document.createElement("p"), {textContent: "A script that a policy let in"}));
}

// Draws the description of the API. What is tried out runs with the log-in of whoever reads it, which needs the CSRF token.
"use strict";
{
  const place = document.getElementById("api"), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => {
    const theme = document.documentElement.dataset.theme;
    document.documentElement.classList.toggle("dark-mode", theme === "dark" || (theme === "auto" && system.matches));
  };
  dark();
  system.addEventListener("change", dark);
  SwaggerUIBundle({
    url: place.dataset.description,
    domNode: place,
    docExpansion: "list",
    defaultModelsExpandDepth: -1,
    deepLinking: true,
    filter: true,
    validatorUrl: null,
    requestInterceptor: request => {
      request.headers["X-CSRFToken"] = place.dataset.csrf;
      return request;
    },
  });
}

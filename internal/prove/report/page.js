"use strict";
(() => {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentNode.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  }

  // Paper cannot be opened.
  addEventListener("beforeprint", () => {
    for (const closed of document.querySelectorAll("details:not([open])")) closed.open = true;
  });

  const filter = document.querySelector("form.filter");
  if (!filter) return;
  filter.hidden = false;
  filter.addEventListener("submit", (e) => e.preventDefault());
  const rows = [...document.querySelectorAll("table.plans tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const input = filter.querySelector("input");
  const count = filter.querySelector("[role=status]");
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      if (!row.hidden) left++;
    });
    count.textContent = words.length ? left + " of " + rows.length : "";
  };
  input.addEventListener("input", apply);
  // Who follows a link to a plan gets to see it.
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#plan-") && input.value) { input.value = ""; apply(); }
  });
})();

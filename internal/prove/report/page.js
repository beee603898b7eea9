"use strict";
(() => {
  // Hints that come at once, in place of the browser's own.
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(x - box.width / 2, innerWidth - box.width - 8)) + "px";
    tip.style.top = (y - box.height - 14 < 8 ? y + 18 : y - box.height - 14) + "px";
  };
  for (const title of document.querySelectorAll(".chart svg title")) {
    const mark = title.parentNode;
    mark.dataset.tip = title.textContent;
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  for (const chart of document.querySelectorAll(".chart")) {
    chart.addEventListener("pointermove", (e) => {
      const mark = e.target.closest("[data-tip]");
      if (mark) show(mark.dataset.tip, e.clientX, e.clientY); else hide();
    });
    chart.addEventListener("pointerleave", hide);
  }
  addEventListener("scroll", hide, { passive: true });

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

// Runs once for each of the page's HTML parts, with `element`, `trigger` and `watch` given by gradio.
const picked = (target) => {
  const found = target.closest("[data-pick]");
  if (!found || found.disabled) return false;
  element.dataset.picked = found.dataset.pick;
  trigger("select", { what: found.dataset.pick, value: found.dataset.value });
  return true;
};
element.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const source = copy.dataset.copy;
    const text = source === "link" ? window.location.href : document.getElementById(source).textContent;
    const label = copy.textContent;
    navigator.clipboard.writeText(text).then(
      () => { copy.textContent = "Copied"; },
      () => { window.prompt("Copy this:", text); },
    ).finally(() => setTimeout(() => { copy.textContent = label; }, 1500));
    return;
  }
  if (window.getSelection().isCollapsed || !event.target.closest("tr[data-pick]")) picked(event.target);
});
element.addEventListener("keydown", (event) => {
  if ((event.key === "Enter" || event.key === " ") && event.target.matches("tr[data-pick], td[data-pick]")) {
    event.preventDefault();
    picked(event.target);
  }
});

const tip = (() => {
  let found = document.getElementById("pb-tip");
  if (!found) {
    found = document.createElement("div");
    found.id = "pb-tip";
    found.setAttribute("role", "tooltip");
    document.body.append(found);
  }
  return found;
})();
const hide = () => tip.classList.remove("on");
element.addEventListener("mouseover", (event) => {
  const owner = event.target.closest("[data-tip]");
  if (!owner) { hide(); return; }
  tip.textContent = owner.dataset.tip;
  tip.classList.add("on");
  const box = owner.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), window.innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
});
element.addEventListener("mouseleave", hide);

const follow = () => {
  const page = element.querySelector("[data-query]");
  if (!page) return;
  hide();
  const query = new URLSearchParams(page.dataset.query);
  const theme = new URLSearchParams(window.location.search).get("__theme");
  if (theme) query.set("__theme", theme);
  const text = query.toString();
  window.history.replaceState(null, "", window.location.pathname + (text ? `?${text}` : ""));
  if (["item", "cell", "open"].includes(element.dataset.picked) && window.innerWidth < 900) {
    element.querySelector(".pb-side")?.scrollIntoView({ behavior: "smooth", block: "start" });
  }
  delete element.dataset.picked;
};
watch("value", follow);

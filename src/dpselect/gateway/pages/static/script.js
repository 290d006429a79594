// Comfort only: every page works without this file.
"use strict";

// A form whose menus change what the page shows: fetch the page of the new menus, keep the focus where it is.
let waiting = null;
let latest = 0;

// What is shown of the question before the change is grey, and cannot be asked, until the new one is there.
function outdate() {
  const expect = document.getElementById("expect"), ask = document.getElementById("ask");
  if (expect) expect.setAttribute("aria-busy", "true");
  if (ask) ask.disabled = true;
}

async function update(form) {
  const turn = ++latest;
  const address = form.action + "?" + new URLSearchParams(new FormData(form));
  outdate();
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (turn !== latest) return;
    if (!answer.ok || answer.redirected) { location.assign(address); return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (turn !== latest) return;
    const focused = document.activeElement && document.activeElement.id;
    const open = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
    replace("#question", page);
    replace("#expect", page);
    open.forEach((id) => { const one = document.getElementById(id); if (one) one.open = true; });
    if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
    history.replaceState(null, "", address);
    const told = document.getElementById("problem") || document.getElementById("cost");
    document.getElementById("updated").textContent = told ? told.textContent : "";
  } catch {
    form.submit();
  }
}

function replace(which, page) {
  const old = document.querySelector(which), fresh = page.querySelector(which);
  if (old && fresh) old.replaceWith(document.importNode(fresh, true));
}

document.addEventListener("input", (event) => {
  const field = event.target, choice = document.getElementById(field.dataset.chooses);
  if (choice) choice.checked = true;
  if (field.closest("[data-live]")) outdate();
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-live]");
  if (!form) return;
  clearTimeout(waiting);
  waiting = setTimeout(update, 150, form);
});

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-live]")) { event.preventDefault(); update(event.target); }
});

// A question that runs: look again as soon as its state is another.
const state = document.querySelector("[data-follows]");

async function follow() {
  const pause = (seconds) => new Promise((next) => setTimeout(next, 1000 * seconds));
  for (;;) {
    try {
      const answer = await fetch(state.dataset.follows + "?wait=5");
      if (!answer.ok) await pause(5);
      if (!answer.ok || (await answer.json()).state !== state.dataset.state) { location.reload(); return; }
    } catch {
      await pause(5);
    }
  }
}

if (state) follow();

for (const button of document.querySelectorAll("[data-copies]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copies);
    field.select();
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  });
}

"use strict";
// Reads a chart at the place of its slider, or of the pointer. The page works without.
for (const figure of document.querySelectorAll("figure")) {
  const chart = figure.querySelector(".chart");
  const reader = figure.querySelector(".reader");
  const slider = reader.querySelector("input");
  const output = reader.querySelector("output");
  const cursor = chart.querySelector(".cursor");
  const places = chart.dataset.x.split(" ").map(Number);
  const heads = [...figure.querySelectorAll("thead th")];
  const rows = [...figure.querySelectorAll("tbody tr")];

  const item = (cell, i) => {
    const model = document.createElement("span");
    model.className = [...cell.classList].find((name) => /^m\d+$/.test(name));
    const head = heads[i + 1];
    const [swatch, name] = [head.querySelector(".swatch"), head.textContent.trim()];
    model.append(swatch.cloneNode(true), ` ${name} ${cell.textContent}`);
    return model;
  };

  const show = () => {
    const i = Number(slider.value);
    const [x, ...cells] = rows[i].children;
    const at = document.createElement("span");
    at.textContent = x.textContent + ":";
    output.replaceChildren(at, ...cells.map(item));
    slider.setAttribute("aria-valuetext", output.textContent);
    cursor.setAttribute("x1", places[i]);
    cursor.setAttribute("x2", places[i]);
  };

  const point = (event) => {
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const gaps = places.map((place) => Math.abs(place - x));
    slider.value = gaps.indexOf(Math.min(...gaps));
    show();
  };

  slider.addEventListener("input", show);
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  reader.hidden = false;
  cursor.removeAttribute("visibility");
  show();
}

"use strict";
// The data of the page, and what its other scripts share. All texts go in as text.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const ink = getComputedStyle(document.body).color;
const soft = "rgba(128,140,150,0.18)";

function make(tag, text) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  return element;
}

function short(value) {
  if (value === null || value === undefined) return "-";
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(1);
  return String(Number(value.toPrecision(5)));
}

function engineering(value) {
  if (Math.abs(value) >= 1e6) return short(value / 1e6) + "M";
  return Math.abs(value) >= 1e3 ? short(value / 1e3) + "k" : short(value);
}

function axes(xLabel, extra) {
  const common = { stroke: ink, grid: { stroke: soft }, ticks: { stroke: soft } };
  const values = (u, ticks) => ticks.map((tick) => (tick === null ? "" : engineering(tick)));
  return [{ ...common, label: xLabel, values, size: 36, labelSize: 18 }, { ...common, size: 72, values, ...extra }];
}

function clear(element) {
  while (element.firstChild) element.firstChild.remove();
}

function widthOf(box) {
  return Math.max(260, box.clientWidth);
}

function chartHeight() {
  return Math.min(460, Math.max(280, window.innerHeight * 0.55));
}

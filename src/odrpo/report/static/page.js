"use strict";
// Draws the curves and lists the runs of the data in the page. All texts go in as text.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const ink = getComputedStyle(document.body).color;
const soft = "rgba(128,140,150,0.18)";
const PAGE = 100;
let chart = null;
// Variants are shown when they are chosen: all at once can't be told apart.
const hidden = new Set(Object.values(data.tasks).flatMap((task) => task.methods.filter((method) => method.variant).map((method) => method.label)));

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

// Lines of methods, each at places of its own: the seeds, the interval and the middle; then what is
// known of the task.
function curvesOf(task, found, methods, withSeeds, width, least = null) {
  const [begin, end] = reach(found, methods, least);
  const tables = [[[begin, end]]], series = [{}], bands = [];
  const add = (table, column, style) => {
    table.push(column);
    series.push({ points: { show: false }, spanGaps: true, ...style });
  };
  for (const method of methods) {
    const own = found[method.label], table = [own.grid], stroke = method.colour;
    if (!own.middle.length) continue;
    if (withSeeds) for (const seed of own.seeds) add(table, seed, { stroke, width: 0.7, alpha: 0.35 });
    if (own.low.length) {
      for (const side of [own.high, own.low]) add(table, side, { stroke, width: 0 });
      bands.push({ series: [series.length - 2, series.length - 1], fill: method.colour + "26" });
    }
    add(table, own.middle, { stroke, width });
    tables.push(table);
  }
  for (const [name, value] of Object.entries(task.lines)) {
    const table = [[begin, end]];
    add(table, [value, value], { stroke: "#808890", width: 1, dash: name === "optimum" ? [2, 4] : [8, 5] });
    tables.push(table);
  }
  // Zooming asks for a range too, and never for more than all.
  const range = (u, low, high) => [Math.max(low, begin), Math.min(high, end)];
  return { columns: uPlot.join(tables), series, bands, x: { time: false, distr: least === null ? 1 : 3, range } };
}

function drawCurves() {
  const env = byId("task").value, against = byId("axis").value;
  const task = data.tasks[env], found = task.axes[against], methods = drawnMethods(task);
  const least = byId("log").checked ? data.logarithmic[against] ?? 0 : null;
  const { columns, series, bands, x } = curvesOf(task, found, methods, byId("seeds").checked, 2.2, least);
  const [across, up] = axes(against, { label: "return, mean of 20 episodes", labelSize: 18 });
  if (chart) chart.destroy();
  const box = byId("chart");
  chart = new uPlot({
    width: widthOf(box), height: chartHeight(),
    series, bands, axes: [least === null ? across : { ...across, splits: logarithmicTicks, filter: (u, ticks) => ticks }, up], legend: { show: false },
    scales: { x, y: { range: limits(task, found, methods) } },
    cursor: { drag: { x: true, y: false }, points: { show: false } },
    hooks: { setCursor: [(u) => readOut(u, task, found, methods, against)] },
  }, columns, box);
  const drawn = new Set(methods.map((method) => method.label));
  drawCertificates(data.runs.filter((run) => run.env === env && drawn.has(run.label)));
}

// Places of a logarithmic axis that have room for their names; even ones where it is hardly a power of ten.
function logarithmicTicks(u, axis, low, high) {
  const decades = Math.log10(high / low), room = u.bbox.width / uPlot.pxRatio / decades, found = [];
  if (decades < 1) {
    const least = (high - low) / 5, power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= least);
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
    return found;
  }
  for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++)
    for (const digit of room > 150 ? [1, 2, 5] : [1]) found.push(digit * 10 ** k);
  return found.filter((tick) => low <= tick && tick <= high);
}

// A small chart of each task, which leads to the large one.
const tiles = [];

function drawOverview() {
  const names = new Map();
  for (const [env, task] of Object.entries(data.tasks)) {
    const methods = task.methods.filter((method) => !method.variant), found = task.axes.timesteps;
    for (const method of methods) names.set(method.name, method.colour);
    const tile = make("a");
    tile.href = "#curves";
    tile.append(make("b", env), make("div"));
    tile.addEventListener("click", () => {
      byId("task").value = env;
      byId("task").dispatchEvent(new Event("change"));
    });
    byId("tiles").append(tile);
    const { columns, series, bands, x: scale } = curvesOf(task, found, methods, false, 1.6);
    const plain = { font: "10px system-ui", size: 22, gap: 2 };
    const [x, y] = axes("timesteps", {}).map(({ label, labelSize, ...axis }) => ({ ...axis, ...plain }));
    tiles.push(new uPlot({
      width: tile.lastChild.clientWidth, height: 130, padding: [6, 14, 0, 0], series, bands, legend: { show: false }, cursor: { show: false },
      axes: [{ ...x, space: 60 }, { ...y, size: 44, space: 28 }],
      scales: { x: scale, y: { range: limits(task, found, methods) } },
    }, columns, tile.lastChild));
  }
  for (const [name, colour] of names) {
    const key = make("span", name);
    key.style.setProperty("--colour", colour);
    byId("key").append(key);
  }
}

function drawnMethods(task) {
  const withVariants = byId("variants").checked;
  return task.methods.filter((method) => !hidden.has(method.label) && (withVariants || !method.variant));
}

// From where to where these go. A logarithmic axis has three decades: before that are a few episodes alone.
function reach(found, methods, least) {
  const grids = methods.map((method) => found[method.label].grid).filter((grid) => grid.length);
  const end = Math.max(0, ...grids.map((grid) => grid[grid.length - 1])) || 1;
  const begin = Math.max(least, end / 1000, Math.min(...grids.map((grid) => grid[0])));
  return [least === null ? 0 : Math.min(begin, end / 2), end];
}

// How bad a beginning was says little: the lowest twentieth of all points is cut off.
function limits(task, found, methods) {
  const lines = Object.values(task.lines), every = [...lines];
  for (const method of methods) every.push(...found[method.label].middle);
  if (!every.length) return () => [0, 1];
  every.sort((a, b) => a - b);
  const low = Math.min(every[Math.floor(every.length / 20)], ...lines), high = every[every.length - 1];
  const room = high - low || Math.abs(high) || 1;
  return () => [low - 0.05 * room, high + 0.08 * room];
}

// A curve between its places; nothing where it is not.
function valueAt(grid, values, x) {
  const k = grid.findIndex((place) => place >= x);
  if (k < 0 || x < grid[0]) return null;
  if (grid[k] === x) return values[k];
  return values[k - 1] + ((x - grid[k - 1]) / (grid[k] - grid[k - 1])) * (values[k] - values[k - 1]);
}

function readOut(u, task, found, methods, against) {
  const box = byId("readout");
  clear(box);
  if (u.cursor.left < 0) return;
  const x = u.posToVal(u.cursor.left, "x");
  box.append(make("span", `${against} ${engineering(Number(x.toPrecision(3)))}:`));
  for (const method of methods) {
    const own = found[method.label], value = valueAt(own.grid, own.middle, x);
    if (value === null) continue;
    const text = make("span", `${method.name} ${short(value)}`);
    text.style.color = method.colour;
    box.append(text);
  }
  for (const [name, value] of Object.entries(task.lines)) box.append(make("span", `${name} ${short(value)}`));
}

function drawLegend() {
  const { methods } = data.tasks[byId("task").value], box = byId("legend");
  clear(box);
  box.append(...legendGroup("methods", methods.filter((method) => !method.variant)));
  if (byId("variants").checked) box.append(...legendGroup("variants", methods.filter((method) => method.variant)));
}

// A switch for each of these methods, and two for all of them.
function legendGroup(name, methods) {
  if (!methods.length) return [];
  const head = make("div"), list = make("div"), buttons = new Map();
  const choose = (chosen, shown) => {
    for (const method of chosen) {
      shown ? hidden.delete(method.label) : hidden.add(method.label);
      buttons.get(method).setAttribute("aria-pressed", String(shown));
    }
    drawCurves();
  };
  const button = (text, act) => {
    const made = make("button", text);
    made.addEventListener("click", act);
    return made;
  };
  head.className = "controls";
  list.className = "methods";
  head.append(make("span", name), button("all", () => choose(methods, true)), button("none", () => choose(methods, false)));
  for (const method of methods) {
    const made = button(method.name, () => choose([method], hidden.has(method.label)));
    made.style.setProperty("--colour", method.colour);
    made.setAttribute("aria-pressed", String(!hidden.has(method.label)));
    buttons.set(method, made);
    list.append(made);
  }
  return [head, list];
}

const small = {};

function emptied(id) {
  if (small[id]) small[id].destroy();
  delete small[id];
  return byId(id);
}

// What is smaller has no place on a logarithmic axis: 0, or a beta* of 1e-38.
const LEAST = 1e-12;

// Of a logarithmic axis the powers of ten alone: lines for all that is between make it grey.
const LOGARITHMIC = { distr: 3, range: (u, low, high) => (low === null ? [low, high] : uPlot.rangeLog(low, high, 10, true)) };
const powers = {
  filter: (u, ticks) => ticks,
  splits: (u, axis, low, high) => {
    const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high)), found = [];
    for (let k = first; k <= last; k += Math.ceil((last - first) / 6) || 1) found.push(10 ** k);
    return found;
  },
  values: (u, ticks) => ticks.map((tick) => tick.toExponential(0).replace("+", "")),
};
// Exact steps use all of the radius: what their rounding does is not to fill the chart.
const SHARE = { range: (u, low, high) => [0, Math.max(1.05, 1.05 * high)] };

// Small charts: lines that have places of their own are put onto one axis.
function drawSmall(id, title, lines, scale) {
  const box = emptied(id);
  const own = lines.filter((line) => line.y.length);
  if (!own.length) return;
  const log = scale === LOGARITHMIC;
  const tables = own.map((line) => [line.x, line.y.map((value) => (log && !(value >= LEAST) ? null : value))]);
  const columns = uPlot.join(tables);
  const series = [{}, ...own.map((line) => ({ stroke: line.colour, width: 1, alpha: 0.8, points: { show: false } }))];
  small[id] = new uPlot({
    title, width: widthOf(box), height: 200, series, legend: { show: false },
    axes: axes("timesteps", log ? powers : {}),
    scales: { x: { time: false }, y: scale },
  }, columns, box);
}

const CERTIFICATES = { beta: ["beta*", LOGARITHMIC], use: ["distance / radius", SHARE], gap: ["gap / (1 + gain)", LOGARITHMIC] };

function drawCertificates(runs, prefix = "") {
  const certified = runs.filter((run) => run.updates.timesteps);
  for (const [name, [title, scale]] of Object.entries(CERTIFICATES)) {
    const lines = certified.map((run) => ({ x: run.updates.timesteps, y: run.updates[name], colour: run.colour }));
    drawSmall(prefix + name, title, lines, scale);
  }
}

// The list of runs.
let order = { key: null, up: true }, shown = PAGE;

// What is unknown comes last, whichever way; equal ones stay as they are.
function inOrder(a, b) {
  const one = a[order.key], other = b[order.key];
  if (one === null || other === null) return (one === null) - (other === null);
  return one === other ? 0 : one > other === order.up ? 1 : -1;
}

function sortRuns(head) {
  const { key } = head.dataset;
  order = { key, up: order.key === key ? !order.up : true };
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order.up ? "ascending" : "descending");
  listRuns();
}

function listRuns() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (run) => `${run.env} ${run.name} ${run.label} seed ${run.seed}`.toLowerCase();
  const runs = data.runs.filter((run) => words.every((word) => text(run).includes(word)));
  if (order.key) runs.sort(inOrder);
  const body = byId("list").tBodies[0];
  clear(body);
  for (const run of runs.slice(0, shown)) {
    const row = body.insertRow(), link = make("a", run.env);
    link.href = `#run-${data.runs.indexOf(run)}`;
    row.insertCell().append(link);
    for (const value of [run.name, run.seed, run.timesteps, run.last, run.greedy, run.gap, run.seconds])
      row.insertCell().textContent = typeof value === "number" ? short(value) : value ?? "-";
    row.addEventListener("click", () => { location.hash = link.hash; });
  }
  byId("found").textContent = `${runs.length} of ${data.runs.length} runs`;
  byId("more").hidden = runs.length <= shown;
}

// A page for one run, instead of all else; where one was in the list is where one comes back to.
let place = 0;

function fill(id, values) {
  const table = byId(id);
  clear(table);
  for (const [name, value] of Object.entries(values)) {
    const row = table.insertRow();
    row.insertCell().textContent = name;
    row.insertCell().textContent = typeof value === "string" ? value : JSON.stringify(value);
  }
}

function showRun(number) {
  const run = data.runs[number], alone = document.body.classList;
  if (run && !alone.contains("one-run")) place = window.scrollY;
  alone.toggle("one-run", Boolean(run));
  if (!run) return;
  byId("run-title").textContent = `${run.env}, ${run.name}, seed ${run.seed}`;
  byId("run-facts").textContent =
    `${run.timesteps.toLocaleString("en")} timesteps, ${run.episodes.toLocaleString("en")} episodes, ${short(run.seconds)} s of training; ` +
    `last tenth ${short(run.last)}, greedy ${short(run.greedy)} over ${run.returns.episodes} episodes` +
    (run.gap === null ? "" : `; largest gap of all updates ${short(run.gap)}, largest use of the radius ${short(run.use)}`) +
    (run.refused > 0 ? `; ${run.refused.toLocaleString("en")} updates refused` : "");
  const { grid, seeds } = data.tasks[run.env].axes.timesteps[run.label];
  const alike = data.runs.filter((other) => other.env === run.env && other.label === run.label);
  drawSmall("run-curve", "return in training", [{ x: grid, y: seeds[alike.indexOf(run)], colour: run.colour }], {});
  drawHistogram("run-evaluation", run);
  drawCertificates([run], "run-");
  fill("run-config", data.configs[run.config]);
  fill("run-versions", { commit: run.commit, ...run.machine, ...run.versions });
  window.scrollTo(0, 0);
}

function drawHistogram(id, run) {
  const box = emptied(id), { counts, edges } = run.returns;
  const x = counts.map((_, k) => (edges[k] + edges[k + 1]) / 2);
  small[id] = new uPlot({
    title: "returns of the greedy policy, episodes", width: widthOf(box), height: 200,
    legend: { show: false }, scales: { x: { time: false, range: (u, low, high) => (low === high ? [low - 1, high + 1] : [low - (high - low) / 10, high + (high - low) / 10]) }, y: { range: (u, low, high) => [0, Math.max(1, high)] } },
    axes: axes("return"),
    series: [{}, { stroke: run.colour, fill: run.colour + "80", paths: uPlot.paths.bars({ size: [0.9, 40] }), points: { show: false } }],
  }, [x, counts], box);
}

function fitCharts() {
  for (const each of [chart, ...Object.values(small)])
    each?.setSize({ width: widthOf(each.root.parentElement), height: each === chart ? chartHeight() : each.height });
  for (const tile of tiles) tile.setSize({ width: tile.root.parentElement.clientWidth, height: tile.height });
}

function route() {
  const match = /^#run-(\d+)$/.exec(location.hash), wasAlone = document.body.classList.contains("one-run");
  showRun(match ? Number(match[1]) : -1);
  if (match || !wasAlone) return;
  fitCharts();
  if (place && ["", "#runs"].includes(location.hash)) window.scrollTo(0, place);
  else byId(location.hash.slice(1))?.scrollIntoView();
}

for (const env of Object.keys(data.tasks)) byId("task").append(make("option", env));
for (const id of ["task", "variants"]) byId(id).addEventListener("change", drawLegend);
byId("axis").addEventListener("change", () => { byId("log").checked = byId("axis").value in data.logarithmic; });
for (const id of ["task", "axis", "log", "seeds", "variants"]) byId(id).addEventListener("change", drawCurves);
for (const button of document.querySelectorAll(".zoom button"))
  button.addEventListener("click", () => {
    const [min, end] = chart.scales.x.range(chart, -Infinity, Infinity);
    chart.setScale("x", { min, max: min + (end - min) * Number(button.dataset.part) });
  });
byId("search").addEventListener("input", () => { shown = PAGE; listRuns(); });
byId("more").addEventListener("click", () => { shown += PAGE; listRuns(); });
for (const button of document.querySelectorAll("#list th button")) button.addEventListener("click", () => sortRuns(button.parentElement));
// A row without a name belongs to the one above, and says so, in case that is out of sight. What a
// row is, in a column without a header, a phone shows beneath the name.
for (const table of document.querySelectorAll("#tables table")) {
  const kinds = table.tHead.rows[0].cells[1]?.textContent === "";
  table.classList.toggle("kinds", kinds);
  let name = "";
  for (const row of table.tBodies[0].rows) {
    const cell = row.cells[0];
    cell.classList.toggle("again", !cell.textContent);
    if (cell.textContent) name = cell.textContent;
    else cell.textContent = name;
    if (kinds) cell.dataset.kind = row.cells[1].textContent;
  }
}
// A phone tells of a new size whenever its address bar goes: only another width matters.
const pageWidth = () => document.documentElement.clientWidth;
let waiting = 0, width = pageWidth();
window.addEventListener("resize", () => {
  if (pageWidth() === width) return;
  width = pageWidth();
  clearTimeout(waiting);
  waiting = setTimeout(fitCharts, 150);
});
window.addEventListener("hashchange", route);
if (data.runs.length) {
  drawOverview();
  drawLegend();
  drawCurves();
}
listRuns();
route();

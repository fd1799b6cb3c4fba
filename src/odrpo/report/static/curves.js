// Learning curves: the large chart with its switches, and a small one of each task.
let chart = null;
// Variants are shown when they are chosen: all at once can't be told apart.
const hidden = new Set(Object.values(data.tasks).flatMap((task) => task.methods.filter((method) => method.variant).map((method) => method.label)));

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

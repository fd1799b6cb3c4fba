// The list of runs, and a page for each.
const PAGE = 100;
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

// A page for one run, instead of all else; where one was in the list is where one comes back to, but
// for a link that leads elsewhere.
let place = 0, followed = false;
document.addEventListener("click", (event) => { followed = Boolean(event.target.closest("nav a")); });

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
    `last tenth ${run.within ? `of the first ${run.within.episodes} episodes ${short(run.last)}, of all ${short(run.within.all)}` : short(run.last)}, greedy ${short(run.greedy)} over ${run.returns.episodes} episodes` +
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
  if (place && !followed) window.scrollTo(0, place);
  else byId(location.hash.slice(1))?.scrollIntoView();
}

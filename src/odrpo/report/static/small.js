// Small charts: certificates, and what a run's page has.
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

// Puts it all on the page.
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

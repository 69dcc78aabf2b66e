"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const make = (tag, facts = {}, ...children) => { const made = Object.assign(document.createElement(tag), facts); made.append(...children); return made; };
const chosen = { method: new Set(data.methods.map((m) => m.name)), group: new Set(data.groups), dimension: new Set(data.dimensions) };
const look = Object.fromEntries(data.methods.map((m) => [m.name, m]));
const ink = () => getComputedStyle(document.body).color;
const config = { displayModeBar: false, responsive: true };

function layout(more) {
  const faint = "rgba(128,128,128,.25)", narrow = window.innerWidth < 800;
  const axis = { gridcolor: faint, zeroline: false, automargin: true };
  return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink(), size: 12 }, hovermode: "closest",
    margin: { l: 55, r: 10, t: 24, b: 45 }, showlegend: false, ...more, xaxis: { ...axis, ...(more.xaxis || {}) }, yaxis: { ...axis, ...(more.yaxis || {}) }, ...(narrow ? { dragmode: false } : {}) };
}
const decades = Array.from({ length: 31 }, (_, i) => i - 12);
const power = (k) => (k === 0 ? "1" : k === 1 ? "10" : `10<sup>${k}</sup>`);
const logAxis = (title) => ({ type: "log", title: { text: title }, tickvals: decades.map((k) => 10 ** k), ticktext: decades.map(power) });
const freeLogAxis = (title) => ({ type: "log", title: { text: title }, exponentformat: "power" });
const line = (m, width = 2) => ({ color: look[m].color, dash: look[m].dash, width });
const shownProblems = () => data.problems.filter((p) => chosen.group.has(p.group) && chosen.dimension.has(p.dimension));
const shownMethods = () => data.methods.map((m) => m.name).filter((m) => chosen.method.has(m));
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

// the chips are a legend too, but far from the lines: few methods get a second one inside the chart, narrow screens one below it
function legend(count) {
  if (window.innerWidth < 800) return { showlegend: true, legend: { orientation: "h", y: -0.25, font: { size: 10 } } };
  return count <= 10 ? { showlegend: true, legend: { x: 0.02, y: 0.98, bgcolor: "rgba(0,0,0,0)", font: { size: 12 } } } : {};
}

function drawECDF() {
  const traces = shownMethods().map((m) => {
    const curves = shownProblems().filter((p) => p.cells[m]).map((p) => p.cells[m].ecdf);
    return { name: m, x: data.axis, y: curves.length ? data.axis.map((_, i) => mean(curves.map((c) => c[i]))) : [], mode: "lines", line: line(m, 2.5) };
  });
  Plotly.react("chart-ecdf", traces, layout({ xaxis: logAxis("evaluations / dimension"), yaxis: { range: [0, 1.02], title: { text: "share of targets" } }, ...legend(data.methods.length) }), config);
}

function drawRadar() {
  const groups = data.groups.filter((g) => shownProblems().some((p) => p.group === g));
  const traces = shownMethods().map((m) => {
    const r = groups.map((g) => { const c = shownProblems().filter((p) => p.group === g && p.cells[m]).map((p) => p.cells[m].ecdf.at(-1)); return c.length ? mean(c) : null; });
    return { type: "scatterpolar", name: m, r: [...r, r[0]], theta: [...groups, groups[0]], line: line(m), mode: "lines" };
  });
  Plotly.react("chart-radar", traces, layout({ margin: { l: 70, r: 70, t: 40, b: 40 }, polar: { bgcolor: "rgba(0,0,0,0)", radialaxis: { range: [0, 1], gridcolor: "rgba(128,128,128,.3)", tickfont: { size: 9 } }, angularaxis: { gridcolor: "rgba(128,128,128,.3)" } } }), config);
}

function drawRanks() {
  const found = data.ranks;
  if (!found) { by("ranks").classList.add("hidden"); return; }
  const order = found.ranks.map((r, i) => [r, found.methods[i]]).sort((a, b) => a[0] - b[0]);
  const names = order.map((o) => o[1]);
  const bars = found.cliques.map(([a, b]) => ({ type: "rect", x0: order[a][0] - 0.05, x1: order[b][0] + 0.05, y0: a - 0.35, y1: b + 0.35, fillcolor: "rgba(213,94,0,.13)", line: { width: 0 }, layer: "below" }));
  const trace = { x: order.map((o) => o[0]), y: names.map((_, i) => i), text: order.map((o) => o[0].toFixed(2)), mode: "markers+text", textposition: "middle right", marker: { size: 11, color: names.map((m) => look[m].color) }, hoverinfo: "text" };
  by("chart-ranks").style.height = `${110 + 24 * names.length}px`;
  Plotly.react("chart-ranks", [trace], layout({ shapes: bars, xaxis: { title: { text: `mean rank${window.innerWidth < 800 ? "<br>" : " "}(critical difference ${found.cd.toFixed(2)})` }, range: [0.7, names.length + (window.innerWidth < 800 ? 1.8 : 0.6)] }, yaxis: { autorange: "reversed", tickvals: names.map((_, i) => i), ticktext: names } }), config);
}

function drawCPU() {
  const names = shownMethods().slice().reverse();
  const trace = { type: "bar", orientation: "h", x: names.map((m) => data.cpu[m]), y: names, marker: { color: names.map((m) => look[m].color) }, text: names.map((m) => data.cpu[m].toPrecision(2)), textposition: "outside", cliponaxis: false };
  by("chart-cpu").style.height = `${90 + 26 * names.length}px`;
  Plotly.react("chart-cpu", [trace], layout({ margin: { l: 55, r: 45, t: 10, b: 45 }, xaxis: { type: "log", title: { text: "CPU seconds per run" } } }), config);
}

function drawProblem(box, problem) {
  const [curves, ecdf, boxes] = box.querySelectorAll(".chart");
  const x = data.axis.map((b) => b * problem.dimension), lines = [], shares = [], finals = [];
  for (const m of shownMethods()) {
    const cell = problem.cells[m];
    if (!cell) continue;
    lines.push({ x, y: cell.low, mode: "lines", line: { width: 0 }, hoverinfo: "skip", connectgaps: true });
    lines.push({ x, y: cell.high, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: look[m].color + "1f", hoverinfo: "skip" });
    lines.push({ name: m, x, y: cell.mid, mode: "lines", line: line(m) });
    shares.push({ name: m, x: data.axis, y: cell.ecdf, mode: "lines", line: line(m) });
    finals.push({ name: m, type: "box", x: cell.final, marker: { color: look[m].color, size: 4 }, boxpoints: "all", jitter: 0.4, pointpos: 0 });
  }
  Plotly.react(curves, lines, layout({ xaxis: logAxis("evaluations"), yaxis: freeLogAxis("f - f*") }), config);
  Plotly.react(ecdf, shares, layout({ xaxis: logAxis("evaluations / dimension"), yaxis: { range: [0, 1.02], title: { text: "share of targets" } } }), config);
  boxes.style.height = `${90 + 20 * finals.length}px`;
  Plotly.react(boxes, finals, layout({ xaxis: freeLogAxis("f - f* at the end"), yaxis: { autorange: "reversed" } }), config);
}

const problemBoxes = data.problems.map((problem) => {
  const ends = Object.entries(problem.cells).map(([m, c]) => [c.mid.at(-1) ?? Infinity, m]), least = Math.min(...ends.map((e) => e[0]));
  const best = ends.filter((e) => e[0] === least).map((e) => e[1]).join(", ");
  const charts = make("div", { className: "charts" }, ...[0, 1, 2].map(() => make("div", { className: "chart" })));
  const box = make("details", { className: "problem" }, make("summary", {}, problem.name + " ", make("small", {}, `${problem.group}; best median: ${best}`)), charts);
  box.addEventListener("toggle", () => box.open && drawProblem(box, problem));
  by("problems").append(box);
  return [box, problem];
});

function filterTables() {
  for (const cell of document.querySelectorAll("table.by-method [data-method]")) {
    const name = cell.dataset.method;
    cell.classList.toggle("hidden", name in look && !chosen.method.has(name));
  }
  for (const row of document.querySelectorAll("tbody tr")) {
    const { group, method } = row.dataset;
    row.classList.toggle("hidden", (group !== undefined && !chosen.group.has(group)) || (method !== undefined && !chosen.method.has(method)) || !inDimension(row));
  }
}
function inDimension(row) {
  const found = row.firstElementChild.textContent.match(/(\d+)-D/);
  return !found || chosen.dimension.has(Number(found[1]));
}

function update() {
  filterTables(); drawECDF(); drawRadar(); drawCPU();
  for (const [box, problem] of problemBoxes) {
    box.classList.toggle("hidden", !(chosen.group.has(problem.group) && chosen.dimension.has(problem.dimension)));
    if (box.open) drawProblem(box, problem);
  }
}

function chips(kind, values, label) {
  const row = make("div", {}, make("b", {}, label));
  const buttons = values.map((value) => {
    const chip = make("button", { className: "chip", type: "button" });
    if (kind === "method") { const dash = make("i"); dash.style.borderTopColor = look[value].color; dash.style.borderTopStyle = { solid: "solid", dash: "dashed", dot: "dotted", dashdot: "double" }[look[value].dash]; chip.append(dash); }
    chip.append(kind === "dimension" ? `${value}-D` : value);
    chip.dataset.kind = kind; chip.dataset.value = value;
    chip.onclick = (event) => {
      const set = chosen[kind];
      if (event.altKey || event.shiftKey) { set.clear(); set.add(value); }
      else if (set.has(value)) set.delete(value); else set.add(value);
      if (!set.size) values.forEach((v) => set.add(v));
      show(); update();
    };
    return chip;
  });
  const all = make("button", { className: "chip", type: "button", ariaPressed: "true" }, "all / none");
  all.onclick = () => { const set = chosen[kind]; const full = set.size === values.length; set.clear(); if (full) set.add(values[0]); else values.forEach((v) => set.add(v)); show(); update(); };
  const show = () => buttons.forEach((chip, i) => chip.setAttribute("aria-pressed", chosen[kind].has(values[i])));
  show();
  row.append(...buttons, all);
  return row;
}
const folded = make("details", { open: window.innerWidth >= 800 }, make("summary", {}, "Filters (shift-click: only this one)"));
folded.append(chips("method", data.methods.map((m) => m.name), "methods"));
if (data.groups.length > 1) folded.append(chips("group", data.groups, "groups"));
if (data.dimensions.length > 1) folded.append(chips("dimension", data.dimensions, "dimensions"));
by("filters").append(folded);

for (const head of document.querySelectorAll("thead th")) {
  head.firstElementChild.onclick = () => {
    const table = head.closest("table"), column = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => { const cell = row.children[column]; return cell.dataset.value === undefined ? null : Number(cell.dataset.value); };
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = x !== null && y !== null ? x - y : x !== null ? -1 : y !== null ? 1 : a.children[column].textContent.localeCompare(b.children[column].textContent, "en", { numeric: true });
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };
}

document.querySelector("main").addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  if (!cell || cell.classList.contains("grey")) return;
  const row = cell.parentNode, label = row.firstElementChild.textContent;
  const method = cell.dataset.method ?? row.dataset.method, against = row.dataset.against;
  const group = row.dataset.group, dimension = label.match(/(\d+)-D/);
  const problem = data.problems.find((p) => p.name === label);
  const problems = problem ? [problem] : data.problems.filter((p) => (!group || p.group === group) && (!dimension || p.dimension === Number(dimension[1])));
  const keys = problems.flatMap((p) => [method, against].flatMap((m) => p.cells[m]?.keys ?? []));
  const [title, text, list] = by("sources").querySelectorAll("h2, p, pre");
  title.textContent = `${method}${against ? ` and ${against}` : ""}: ${cell.textContent}`;
  text.textContent = `${keys.length} records (${label}); keys as in records.jsonl, all cells in tables/sources.json:`;
  list.textContent = keys.join("\n");
  by("sources").showModal();
});

drawRanks();
update();
if (problemBoxes.length <= 8) problemBoxes.forEach(([box]) => { box.open = true; });
document.body.dataset.ready = "true";

// Draws the report: reads the series' data blocks one at a time, when they are looked at.
(function () {
'use strict';
const $ = (id) => document.getElementById(id);
const strings = JSON.parse($('strings').textContent);
const say = (key, ...words) => strings[key].replace(/\{(\d)\}/g, (all, i) => (i < words.length ? words[i] : all));
const whole = (n) => n.toLocaleString('en-US');
const blocks = Array.from(document.querySelectorAll('script.series'));
const titles = blocks.map((b) => b.dataset.title);
// A target that all series share need not be read a thousand times.
const shared = titles.length ? titles[0].slice(Math.max(0, titles[0].lastIndexOf(' · '))) : '';
const short = shared.startsWith(' · ') && titles.every((t) => t.endsWith(shared) && t.length > shared.length)
  ? titles.map((t) => t.slice(0, -shared.length)) : titles;
const element = (tag, name, words) => {
  const e = document.createElement(tag);
  if (name) e.className = name;
  if (words !== undefined) e.textContent = words;
  return e;
};
const finite = (v) => v !== null && v !== undefined;

// ---- data ----
const axes = new Map();
function axis(id) {
  if (!axes.has(id)) {
    const raw = JSON.parse($('time-' + id).textContent);
    const ms = raw.ms || Array.from({length: raw.count}, (_, i) => raw.start + i * raw.step);
    axes.set(id, {ms, text: raw.text});
  }
  return axes.get(id);
}

// The same rule as the program's: equal within 1e-6, else linear between neighbours, nothing outside.
function quantile(series, level) {
  const lines = series.quantiles;
  for (let i = 0; i < lines.length; ++i) {
    if (Math.abs(lines[i].level - level) < 1e-6) return lines[i].values;
    if (lines[i].level < level) continue;
    if (i === 0) return null;
    const a = lines[i - 1], b = lines[i], w = (level - a.level) / (b.level - a.level);
    return a.values.map((v, k) => (finite(v) && finite(b.values[k]) ? v * (1 - w) + b.values[k] * w : null));
  }
  return null;
}

function load(index) {
  const s = JSON.parse(blocks[index].textContent);
  s.title = titles[index];
  s.past = axis(s.past);
  s.future = axis(s.future);
  s.median = quantile(s, 0.5);
  s.center = s.median || s.mean;
  s.bands = [[80, 0.1, 0.9], [50, 0.25, 0.75]]
    .map(([percent, low, high]) => ({percent, low: quantile(s, low), high: quantile(s, high)}))
    .filter((band) => band.low && band.high);
  let low = Infinity, high = -Infinity;
  const lists = [s.history, s.center, s.actual].concat(...s.bands.map((b) => [b.low, b.high]));
  for (const list of lists) {
    for (const v of list || []) {
      if (!finite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  s.low = low;
  s.high = high;
  return s;
}

// ---- numbers ----
function fixed(v, decimals) {
  const out = v.toLocaleString('en-US', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  return /^-[0.,]*$/.test(out) ? out.slice(1) : out;
}
// Decimals that show a thousandth of the series' own range, so that 1e6 ± 1e-3 keeps its digits.
function format(s, v) {
  if (!finite(v)) return '–';
  const largest = Math.max(Math.abs(s.low), Math.abs(s.high), Math.abs(v));
  if (largest >= 1e15 || (largest < 1e-4 && largest > 0)) return v.toExponential(3);
  const range = s.high > s.low ? s.high - s.low : largest || 1;
  return fixed(v, Math.min(12, Math.max(0, Math.ceil(3 - Math.log10(range)))));
}

function niceStep(least) {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  return [1, 2, 2.5, 5, 10].map((m) => m * power).find((step) => step >= least * (1 - 1e-9));
}
function valueTicks(low, high, pixels) {
  if (!(high > low)) return [];
  const step = niceStep((high - low) / Math.max(2, pixels / 46));
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const power = Math.floor(Math.log10(step) + 1e-9);
  const decimals = Math.max(0, -power + (Math.abs(step / Math.pow(10, power) - 2.5) < 1e-6 ? 1 : 0));
  const [scale, suffix] = step >= 1e3 && largest >= 1e6 && largest < 1e15
    ? largest >= 2e12 ? [1e12, 'T'] : largest >= 2e9 ? [1e9, 'G'] : largest >= 2e6 ? [1e6, 'M'] : [1, ''] : [1, ''];
  const scientific = largest >= 1e15 || largest < 1e-4;
  const extra = scale > 1 ? Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9)) : decimals;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + (high > 0 ? 1e-12 : -1e-12)) && ticks.length < 40; ++k) {
    const v = k * step;
    const digits = Math.min(15, Math.max(0, Math.ceil(Math.log10(largest / step) - 1e-9)));
    ticks.push({v, label: v === 0 ? '0' : scientific ? v.toExponential(digits) : fixed(v / scale, Math.min(15, extra)) + suffix});
  }
  return ticks;
}

// Times are drawn as if UTC: the offset of the file is already in them.
const SECOND = 1e3, MINUTE = 6e4, HOUR = 36e5, DAY = 864e5;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE,
  2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY];
function dateTicks(low, high, pixels) {
  const least = (high - low) / Math.max(2, pixels / 92);
  const iso = (t) => { const d = new Date(t); return isNaN(d) ? '' : d.toISOString(); };
  const step = STEPS.find((x) => x >= least);
  const ticks = [];
  if (step) {
    // Weeks begin on Monday; 1970-01-05 was one.
    const shift = step >= 7 * DAY ? 4 * DAY : 0;
    for (let t = Math.ceil((low - shift) / step) * step + shift; t <= high; t += step) {
      const words = iso(t);
      const label = t % DAY === 0 ? words.slice(0, 10) : step < SECOND ? words.slice(17, 23) : step < MINUTE ? words.slice(11, 19) : words.slice(11, 16);
      ticks.push({v: t, label});
    }
    return ticks;
  }
  const months = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 24000].find((m) => m * 30.44 * DAY >= least) || 240000;
  const first = new Date(low);
  if (isNaN(first)) return [];
  for (let m = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months; ticks.length < 60; m += months) {
    const d = new Date(0);
    d.setUTCFullYear(Math.floor(m / 12), m % 12, 1);
    const t = d.getTime();
    if (isNaN(t) || t > high) break;
    if (t >= low) ticks.push({v: t, label: iso(t).slice(0, months % 12 === 0 ? iso(t).indexOf('-', 1) : iso(t).indexOf('-', 1) + 3)});
  }
  return ticks;
}
function rowTicks(low, high, pixels) {
  const step = Math.max(1, niceStep((high - low) / Math.max(2, pixels / 80)));
  const ticks = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) ticks.push({v, label: whole(v)});
  return ticks;
}

// ---- chart ----
let series = null, current = -1, graph = null, point = -1, colors = {};

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['history', 'median', 'band80', 'band50', 'actual', 'now', 'grid', 'ahead', 'line', 'muted', 'veil']) {
    colors[name] = style.getPropertyValue('--' + name).trim();
  }
}

// One row per instant: history, centre, actual, then the edges of the bands.
function chartRows(s) {
  const rows = s.past.ms.map((t, i) => [t + s.offset, s.history[i], null, null].concat(...s.bands.map(() => [null, null])));
  s.future.ms.forEach((t, i) => rows.push([t + s.offset, null, s.center ? s.center[i] : null, s.actual ? s.actual[i] : null]
    .concat(...s.bands.map((b) => [b.low[i], b.high[i]]))));
  return rows;
}
function chartLabels(s) {
  return ['x', 'history', 'median', 'actual'].concat(...s.bands.map((b) => ['low' + b.percent, 'high' + b.percent]));
}

function fillBand(canvas, g, band, color) {
  canvas.fillStyle = color;
  const at = (i, v) => g.toDomCoords(series.future.ms[i] + series.offset, v);
  for (let i = 0; i < band.low.length; ++i) {
    if (!finite(band.low[i]) || !finite(band.high[i])) continue;
    let end = i;
    while (end + 1 < band.low.length && finite(band.low[end + 1]) && finite(band.high[end + 1])) ++end;
    canvas.beginPath();
    if (end === i) {
      const [x, top] = at(i, band.high[i]), bottom = at(i, band.low[i])[1];
      canvas.rect(x - 4, top, 8, Math.max(1, bottom - top));
    } else {
      for (let k = i; k <= end; ++k) canvas.lineTo(...at(k, band.high[k]));
      for (let k = end; k >= i; --k) canvas.lineTo(...at(k, band.low[k]));
    }
    canvas.fill();
    i = end;
  }
}

function underlay(canvas, area, g) {
  canvas.save();
  canvas.beginPath();
  canvas.rect(area.x, area.y, area.w, area.h);
  canvas.clip();
  const past = series.past.ms;
  if (past.length && series.future.ms.length) {
    const now = Math.round(g.toDomXCoord(past[past.length - 1] + series.offset)) + 0.5;
    canvas.fillStyle = colors.ahead;
    if (now < area.x + area.w) canvas.fillRect(Math.max(now, area.x), area.y, area.x + area.w - Math.max(now, area.x), area.h);
    for (const band of series.bands) fillBand(canvas, g, band, band.percent === 80 ? colors.band80 : colors.band50);
    canvas.strokeStyle = canvas.fillStyle = colors.now;
    canvas.setLineDash([4, 4]);
    canvas.beginPath();
    canvas.moveTo(now, area.y);
    canvas.lineTo(now, area.y + area.h);
    canvas.stroke();
    canvas.font = '12px ' + getComputedStyle(document.body).fontFamily;
    canvas.textAlign = 'right';
    canvas.fillText(say('now'), now - 5, area.y + 12);
  } else {
    for (const band of series.bands) fillBand(canvas, g, band, band.percent === 80 ? colors.band80 : colors.band50);
  }
  canvas.restore();
}

// Makes room for the longest label of the value axis, after the drawing that showed it: dygraphs cannot draw
// again inside its own callback. It also keeps its first clipping area until its canvas changes size, hence
// the narrower moment.
let room = 60, fitting = 0;
const labelRoom = (ticks) => Math.max(40, ...ticks.map((t) => t.label.length * 7.6 + 10));
function fitLabels(g) {
  const wanted = labelRoom(valueTicks(...g.yAxisRange(0), g.getArea().h));
  clearTimeout(fitting);
  if (Math.abs(wanted - room) <= 6) return;
  fitting = setTimeout(() => {
    if (g !== graph) return;
    room = wanted;
    g.updateOptions({axes: {y: {axisLabelWidth: room}}}, true);
    $('chart').style.width = $('chart').clientWidth - 1 + 'px';
    g.resize();
    $('chart').style.width = '';
    g.resize();
  }, 0);
}

const touch = {
  touchstart: (event) => follow(event),
  touchmove: (event) => follow(event),
  touchend: () => {},
};
function follow(event) {
  if (event.touches.length !== 1) return;
  const x = event.touches[0].clientX - $('chart').getBoundingClientRect().left;
  const time = graph.toDataXCoord(x);
  let best = 0;
  for (let i = 1; i < instants(); ++i) if (Math.abs(instant(i) - time) < Math.abs(instant(best) - time)) best = i;
  select(best);
}

const instants = () => series.past.ms.length + series.future.ms.length;
const instant = (i) => series.offset + (i < series.past.ms.length ? series.past.ms[i] : series.future.ms[i - series.past.ms.length]);

function draw() {
  if (graph) graph.destroy();
  graph = null;
  point = -1;
  $('chart').hidden = !(series.high >= series.low);
  $('empty').hidden = !$('chart').hidden;
  $('near').disabled = $('all').disabled = $('keys').hidden = $('chart').hidden;
  if ($('chart').hidden) return;
  readColors();
  room = labelRoom(valueTicks(series.low, series.high, 300));
  const edges = {};
  for (const b of series.bands) {
    for (const name of ['low' + b.percent, 'high' + b.percent]) edges[name] = {strokeWidth: 0, pointSize: 0, highlightCircleSize: 0, showInRangeSelector: false};
  }
  const flat = series.high === series.low ? Math.max(Math.abs(series.high) * 0.1, 1e-300) || 1 : 0;
  const narrow = window.innerWidth < 560;
  const xTicks = series.numbered ? rowTicks : dateTicks;
  graph = new Dygraph($('chart'), chartRows(series), {
    labels: chartLabels(series),
    colors: [colors.history, colors.median, colors.actual].concat(...series.bands.map(() => [colors.median, colors.median])),
    series: Object.assign({
      history: {strokeWidth: 1.5, pointSize: 2, showInRangeSelector: true},
      median: {strokeWidth: 2.2, pointSize: 3, showInRangeSelector: true},
      actual: {strokeWidth: 1.6, pointSize: 2.5, strokePattern: [6, 3], showInRangeSelector: true},
    }, edges),
    legend: 'never', connectSeparatedPoints: false, highlightCircleSize: 4,
    animatedZooms: false, yRangePad: 14, xRangePad: 2,
    valueRange: flat ? [series.low - flat, series.high + flat] : null,
    gridLineColor: colors.grid, axisLineColor: colors.line, axisLabelFontSize: 12,
    axes: {
      x: {ticker: (a, b, pixels) => xTicks(a, b, pixels), drawGrid: false, axisLabelWidth: 84},
      y: {ticker: (a, b, pixels) => valueTicks(a, b, pixels), axisLabelWidth: room},
    },
    showRangeSelector: instants() > 2, rangeSelectorHeight: narrow ? 34 : 44,
    rangeSelectorPlotLineWidth: 1.2, rangeSelectorPlotStrokeColor: colors.muted, rangeSelectorPlotFillColor: colors.line,
    rangeSelectorPlotFillGradientColor: 'rgba(128,128,128,0)', rangeSelectorBackgroundStrokeColor: colors.line,
    rangeSelectorForegroundStrokeColor: colors.muted, rangeSelectorAlpha: parseFloat(colors.veil),
    interactionModel: Object.assign({}, Dygraph.defaultInteractionModel, touch),
    underlayCallback: underlay,
    drawCallback: (g) => { if (graph) fitLabels(g); },
    highlightCallback: (event, x, points, row) => { point = row; readout(row); },
    unhighlightCallback: () => { point = -1; readout(-1); },
  });
  fitLabels(graph);
}

function readout(row) {
  const s = series, n = s.past.ms.length, k = row - n;
  const box = $('readout');
  const entry = (color, area, name, words) => {
    const key = element('span', 'key');
    const swatch = element('i', area ? 'swatch area' : 'swatch');
    swatch.style.background = 'var(--' + color + ')';
    key.append(swatch, name);
    if (words !== undefined) key.append(element('b', '', words));
    box.append(key);
  };
  box.replaceChildren();
  if (row >= 0) box.append(element('span', 'at', k < 0 ? s.past.text[row] : s.future.text[k]));
  const some = (list) => list && list.some(finite);
  if (k < 0 && some(s.history)) entry('history', false, say('history'), row < 0 ? undefined : finite(s.history[row]) ? format(s, s.history[row]) : say('gap'));
  if (row >= 0 && k < 0) return;
  if (some(s.center)) entry('median', false, say(s.median ? 'median' : 'mean'), row < 0 ? undefined : format(s, s.center[k]));
  for (const b of s.bands.slice().reverse()) {
    if (some(b.low)) entry('band' + b.percent, true, say('band', b.percent), row < 0 ? undefined : format(s, b.low[k]) + ' … ' + format(s, b.high[k]));
  }
  if (some(s.actual)) entry('actual', false, say('actual'), row < 0 ? undefined : format(s, s.actual[k]));
}

function select(row) {
  if (!graph) return;
  point = Math.max(0, Math.min(instants() - 1, row));
  graph.setSelection(point);
  readout(point);
}

function around(center, width) {
  const [first, last] = [instant(0), instant(instants() - 1)];
  const span = Math.min(width, last - first);
  const low = Math.max(first, Math.min(center - span / 2, last - span));
  const pad = span * 0.005;
  graph.updateOptions({dateWindow: [low - pad, low + span + pad]});
}
function zoom(factor) {
  const [low, high] = graph.xAxisRange();
  around(point >= 0 ? instant(point) : (low + high) / 2, (high - low) * factor);
}
function near() {
  if (!graph) return;
  const future = series.future.ms.length, past = series.past.ms.length;
  if (!future || !past) return graph.resetZoom();
  const first = instant(Math.max(0, past - Math.max(2 * future, 48))), last = instant(instants() - 1);
  around((first + last) / 2, last - first);
}

// ---- table ----
let tab = 'forecast', shown = 0;
const CHUNK = 200;
function columns() {
  if (tab === 'history') return [[say('value'), series.history]];
  const list = series.quantiles.map((q) => [String(+q.level.toPrecision(6)), q.values]);
  if (series.mean) list.unshift([say('mean'), series.mean]);
  if (series.actual) list.push([say('actual'), series.actual]);
  return list;
}
function table() {
  if (!$('numbers').open) return;
  shown = 0;
  const head = element('thead'), line = element('tr');
  for (const name of [say(series.numbered ? 'row' : 'time')].concat(columns().map((c) => c[0]))) {
    const cell = element('th', '', name);
    cell.scope = 'col';
    line.append(cell);
  }
  head.append(line);
  $('table').replaceChildren(head, element('tbody'));
  moreRows();
}
function moreRows() {
  const times = tab === 'history' ? series.past.text : series.future.text, lists = columns();
  const body = $('table').tBodies[0], end = Math.min(times.length, shown + CHUNK);
  // The newest past value first: it is the one people look for.
  for (let i = shown; i < end; ++i) {
    const at = tab === 'history' ? times.length - 1 - i : i;
    const line = element('tr'), head = element('th', '', times[at]);
    head.scope = 'row';
    line.append(head, ...lists.map((c) => element('td', '', format(series, c[1][at]))));
    body.append(line);
  }
  shown = end;
  $('more').hidden = shown >= times.length;
  $('more').textContent = say('more_rows', whole(Math.min(CHUNK, times.length - shown)));
}
function csv() {
  const quote = (v) => (/[",\r\n]/.test(v) ? '"' + v.replace(/"/g, '""') + '"' : v);
  const times = tab === 'history' ? series.past.text : series.future.text, lists = columns();
  const lines = [['time'].concat(lists.map((c) => quote(c[0]))).join(',')];
  times.forEach((t, i) => lines.push([quote(t)].concat(lists.map((c) => (finite(c[1][i]) ? String(c[1][i]) : ''))).join(',')));
  const link = element('a');
  link.href = URL.createObjectURL(new Blob([lines.join('\n') + '\n'], {type: 'text/csv'}));
  link.download = series.title.replace(/[^\p{L}\p{N}._-]+/gu, '_').slice(0, 80) + '-' + tab + '.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// ---- chooser ----
const ROW = 44;
let matches = titles.map((_, i) => i), active = 0;
const sparks = new Map();
function spark(index) {
  if (sparks.has(index)) return sparks.get(index);
  const s = load(index), svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const past = s.history.slice(-48), future = (s.center || []).slice(0, 48), all = past.concat(future).filter(finite);
  const low = Math.min(...all), high = Math.max(...all), n = Math.max(1, past.length + future.length - 1);
  const path = (list, from, color) => {
    let d = '', pen = false;
    list.forEach((v, i) => {
      if (finite(v)) d += (pen ? 'L' : 'M') + ((from + i) / n * 62 + 1).toFixed(1) + ' ' + (high > low ? 22 - (v - low) / (high - low) * 20 : 12).toFixed(1);
      pen = finite(v);
    });
    const p = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    p.setAttribute('d', d);
    p.style.stroke = 'var(--' + color + ')';
    svg.append(p);
  };
  svg.setAttribute('width', 64);
  svg.setAttribute('height', 24);
  svg.setAttribute('aria-hidden', 'true');
  path(past, 0, 'history');
  path(future, past.length, 'median');
  if (sparks.size > 300) sparks.clear();
  sparks.set(index, svg);
  return svg;
}
// Only the visible rows exist, so that ten thousand series scroll like ten.
function rows() {
  const list = $('list'), box = $('rows');
  box.style.height = Math.max(matches.length * ROW, matches.length ? 0 : 40) + 'px';
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 2), last = Math.min(matches.length, first + Math.ceil((list.clientHeight || 300) / ROW) + 5);
  const made = [];
  for (let i = first; i < last; ++i) {
    const row = element('div', i === active ? 'row active' : 'row');
    row.id = 'row-' + i;
    row.setAttribute('role', 'option');
    row.setAttribute('aria-selected', matches[i] === current);
    row.setAttribute('aria-posinset', i + 1);
    row.setAttribute('aria-setsize', matches.length);
    row.style.top = i * ROW + 'px';
    row.title = titles[matches[i]];
    const name = element('span', '', short[matches[i]]);
    name.dir = 'auto';
    row.append(name, spark(matches[i]));
    row.addEventListener('click', () => { active = i; show(matches[i]); });
    made.push(row);
  }
  if (!matches.length) made.push(element('div', 'none', say('no_match')));
  box.replaceChildren(...made);
  if (matches.length) $('search').setAttribute('aria-activedescendant', 'row-' + active);
  else $('search').removeAttribute('aria-activedescendant');
}
function reveal(i) {
  const list = $('list');
  active = Math.max(0, Math.min(matches.length - 1, i));
  if (active * ROW < list.scrollTop) list.scrollTop = active * ROW;
  if ((active + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (active + 1) * ROW - list.clientHeight;
  rows();
}
function search() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  matches = [];
  titles.forEach((t, i) => { const low = t.toLowerCase(); if (words.every((w) => low.includes(w))) matches.push(i); });
  $('matches').textContent = say('matches', whole(matches.length), whole(titles.length));
  $('list').scrollTop = 0;
  reveal(Math.max(0, matches.indexOf(current)));
}
function searchKey(event) {
  const page = Math.max(1, Math.floor($('list').clientHeight / ROW) - 1);
  const move = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page}[event.key];
  if (move) reveal(active + move);
  else if (event.key === 'Enter' && matches.length) show(matches[active]);
  else if (event.key === 'Escape' && $('search').value) { $('search').value = ''; search(); }
  else return;
  event.preventDefault();
}

// ---- page ----
function show(index) {
  if (!(index >= 0 && index < blocks.length)) return;
  current = index;
  series = load(index);
  $('name').textContent = series.title;
  $('chart').setAttribute('aria-label', say('chart_label', series.title, whole(series.past.ms.length), whole(series.future.ms.length)));
  $('position').textContent = say('position', whole(index + 1), whole(blocks.length));
  $('previous').disabled = index === 0;
  $('next').disabled = index === blocks.length - 1;
  $('trimmed').hidden = series.total <= series.history.length;
  $('trimmed').textContent = say('trimmed', whole(series.history.length), whole(series.total));
  draw();
  near();
  readout(-1);
  table();
  if (blocks.length > 1) {
    const i = matches.indexOf(index);
    if (i >= 0) reveal(i); else rows();
    try { history.replaceState(null, '', '#' + (index + 1)); } catch (e) { /* some viewers forbid it */ }
  }
}
function chartKey(event) {
  if (!graph || event.ctrlKey || event.metaKey || event.altKey) return;
  const now = series.past.ms.length - 1, at = point >= 0 ? point : now, leap = event.shiftKey ? 10 : 1;
  const act = {
    ArrowLeft: () => select(at - leap), ArrowRight: () => select(at + leap), Home: () => select(0), End: () => select(instants() - 1),
    '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => graph.resetZoom(),
    Escape: () => { graph.clearSelection(); point = -1; readout(-1); },
  }[event.key];
  if (!act) return;
  act();
  if (point >= 0) {
    const [low, high] = graph.xAxisRange();
    if (instant(point) < low || instant(point) > high) around(instant(point), high - low);
  }
  event.preventDefault();
}
function press(name, pressed) {
  tab = name;
  $('tab-forecast').setAttribute('aria-pressed', tab === 'forecast');
  $('tab-history').setAttribute('aria-pressed', tab === 'history');
  table();
}
function paper(on) {
  document.documentElement.classList.toggle('paper', on);
  redraw();
}
// Keeps the window when only the colours change.
function redraw() {
  if (!graph) return;
  const range = graph.xAxisRange();
  draw();
  if (graph) graph.updateOptions({dateWindow: range});
}

function start() {
  const labels = {near: 'zoom_forecast', all: 'reset_zoom', keys: 'chart_keys', empty: 'no_data', 'numbers-title': 'show_numbers',
    'tab-forecast': 'forecast', 'tab-history': 'history', csv: 'download_csv'};
  for (const id in labels) $(id).textContent = say(labels[id]);
  $('previous').setAttribute('aria-label', say('previous'));
  $('next').setAttribute('aria-label', say('next'));
  $('search').placeholder = say('search', whole(titles.length));
  $('search').setAttribute('aria-label', say('search', whole(titles.length)));
  const words = blocks.length === 1 ? say('summary_one') : say('summary_many', whole(blocks.length));
  $('summary').textContent += ($('summary').textContent ? ' · ' : '') + words;
  $('report').hidden = blocks.length === 0;
  if (blocks.length === 0) return;
  const many = blocks.length > 1, wide = matchMedia('(min-width: 821px)');
  document.querySelector('main').classList.toggle('many', many);
  $('chooser').hidden = $('pager').hidden = !many;
  $('search').hidden = blocks.length < 8;
  const fold = () => { $('chooser-fold').open = wide.matches; };
  fold();
  wide.addEventListener('change', fold);
  $('matches').textContent = say('matches', whole(blocks.length), whole(blocks.length));
  $('list').addEventListener('scroll', rows, {passive: true});
  $('chooser-fold').addEventListener('toggle', rows);
  $('search').addEventListener('input', search);
  $('search').addEventListener('keydown', searchKey);
  if (blocks.length < 8) { $('list').tabIndex = 0; $('list').addEventListener('keydown', searchKey); }
  $('previous').addEventListener('click', () => show(current - 1));
  $('next').addEventListener('click', () => show(current + 1));
  $('near').addEventListener('click', near);
  $('all').addEventListener('click', () => graph && graph.resetZoom());
  $('chart').addEventListener('keydown', chartKey);
  $('numbers').addEventListener('toggle', table);
  $('tab-forecast').addEventListener('click', () => press('forecast'));
  $('tab-history').addEventListener('click', () => press('history'));
  $('more').addEventListener('click', moreRows);
  $('csv').addEventListener('click', csv);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  window.addEventListener('beforeprint', () => paper(true));
  window.addEventListener('afterprint', () => paper(false));
  const wanted = () => (parseInt(location.hash.slice(1), 10) || 1) - 1;
  window.addEventListener('hashchange', () => { if (wanted() !== current) show(wanted()); });
  show(wanted() < blocks.length ? Math.max(0, wanted()) : 0);
}
start();
})();

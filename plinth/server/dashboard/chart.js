// Draws one series with dygraphs: its history, its newest forecast with its band, earlier forecasts, and the truth.
'use strict';
const Chart = (() => {
const DAY = 864e5;
const finite = (v) => typeof v === 'number' && isFinite(v);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Times read as the request wrote them: its offset is added, and the axis counts as if in UTC.
function timeText(ms, span) {
  const words = new Date(ms).toISOString();
  if (span > 800 * DAY) return words.slice(0, 7);
  if (span > 12 * DAY || ms % DAY === 0) return words.slice(0, 10).slice(span > 300 * DAY ? 0 : 5);
  return span < 12e4 ? words.slice(11, 19) : words.slice(11, 16);
}
function wholeTime(ms) {
  const words = new Date(ms).toISOString();
  return words.slice(0, 10) + ' ' + words.slice(11, ms % 6e4 === 0 ? 16 : 19);
}

// As many digits as tell a thousandth of the range apart.
function number(v, range) {
  if (!finite(v)) return '–';
  const size = Math.abs(v);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) return v.toPrecision(4);
  const digits = Math.min(8, Math.max(0, Math.ceil(2.5 - Math.log10(range > 0 ? range : size || 1))));
  return v.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

// One row for each time, columns of low, middle and high: history, newest, earlier ones, truth; from the last
// `past` values of the history on.
function rows(series, past) {
  const width = series.forecasts.length + 2;
  const all = new Map();
  const put = (time, column, low, middle, high) => {
    const x = time + series.offset_ms;
    if (!all.has(x)) all.set(x, Array.from({length: width}, () => [NaN, NaN, NaN]));
    all.get(x)[column] = [low, middle, high].map((v) => (finite(v) ? v : NaN));
  };
  series.times.forEach((t, i) => put(t, 0, series.history[i], series.history[i], series.history[i]));
  const outside = new Set();
  series.forecasts.forEach((f, n) => {
    f.times.forEach((t, i) => {
      const banded = finite(f.low[i]) && finite(f.high[i]);
      put(t, 1 + n, banded ? f.low[i] : f.median[i], f.median[i], banded ? f.high[i] : f.median[i]);
      if (!finite(f.truth[i])) return;
      put(t, width - 1, f.truth[i], f.truth[i], f.truth[i]);
      if (banded && (f.truth[i] < f.low[i] || f.truth[i] > f.high[i])) outside.add(t + series.offset_ms);
    });
  });
  const since = series.times.length > past ? series.times[series.times.length - past] + series.offset_ms : -Infinity;
  const xs = Array.from(all.keys()).filter((x) => x >= since).sort((a, b) => a - b);
  return {data: xs.map((x) => [series.numbered ? x : new Date(x)].concat(all.get(x))), outside, first: xs[0], last: xs[xs.length - 1]};
}

function range(data) {
  let low = Infinity, high = -Infinity;
  for (const row of data) {
    for (const triple of row.slice(1)) {
      for (const v of triple) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
    }
  }
  return high > low ? [low - (high - low) * 0.06, high + (high - low) * 0.06] : finite(low) ? [low - 1, low + 1] : [0, 1];
}

// A line where the newest forecast begins.
function underlay(canvas, area, g, from) {
  if (!finite(from)) return;
  const x = Math.round(g.toDomXCoord(from)) + 0.5;
  if (x > area.x + area.w || x < area.x) return;
  canvas.save();
  canvas.strokeStyle = color('edge');
  canvas.setLineDash([3, 3]);
  canvas.beginPath();
  canvas.moveTo(x, area.y);
  canvas.lineTo(x, area.y + area.h);
  canvas.stroke();
  canvas.restore();
}

function drawTruth(outside, ink) {
  return (g, name, canvas, cx, cy, _, size, index) => {
    const x = +g.getValue(index, 0);
    canvas.beginPath();
    if (outside.has(x)) {
      canvas.lineWidth = 1.8;
      canvas.strokeStyle = ink;
      canvas.moveTo(cx, cy - 5);
      canvas.lineTo(cx + 5, cy);
      canvas.lineTo(cx, cy + 5);
      canvas.lineTo(cx - 5, cy);
      canvas.closePath();
      canvas.stroke();
    } else {
      canvas.fillStyle = ink;
      canvas.arc(cx, cy, 2.6, 0, 2 * Math.PI);
      canvas.fill();
    }
  };
}

// `tell` is given the text of the place under the pointer, or an empty one.
function options(series, made, words, tell) {
  const count = series.forecasts.length, ink = color('ink'), span = made.last - made.first;
  const [low, high] = range(made.data);
  const names = ['history', 'newest'].concat(Array.from({length: Math.max(0, count - 1)}, (_, i) => 'earlier' + i));
  const labels = ['x'].concat(count ? names : ['history'], ['truth']);
  const each = {history: {color: ink, strokeWidth: 1.6}, newest: {color: color('median'), strokeWidth: 1.8, strokePattern: [6, 3]},
    truth: {color: ink, strokeWidth: 0, drawPoints: true, pointSize: 3, drawPointCallback: drawTruth(made.outside, ink)}};
  for (const name of names.slice(2)) each[name] = {color: color('earlier'), strokeWidth: 1.1};
  const from = series.times.length ? series.times[series.times.length - 1] + series.offset_ms : NaN;
  return {
    labels, series: each, customBars: true, labelsUTC: true, legend: 'never', fillAlpha: 0.28, valueRange: [low, high], animatedZooms: false,
    axisLineColor: color('line'), gridLineColor: color('line'), gridLineWidth: 0.6, highlightCircleSize: 3, rightGap: 10, interactionModel: {},
    axes: {
      x: {axisLabelFormatter: (x) => (series.numbered ? String(Math.round(+x)) : timeText(+x, span)), axisLabelWidth: 74, pixelsPerLabel: 84},
      y: {axisLabelFormatter: (v) => number(v, high - low), axisLabelWidth: 58, pixelsPerLabel: 40},
    },
    underlayCallback: (canvas, area, g) => underlay(canvas, area, g, from),
    highlightCallback: (event, x, points, row) => tell(readout(made.data[row], labels, series, words, high - low)),
    unhighlightCallback: () => tell(''),
  };
}

function readout(row, labels, series, words, span) {
  const parts = [series.numbered ? String(+row[0]) : wholeTime(+row[0])];
  row.slice(1).forEach((triple, i) => {
    if (!finite(triple[1])) return;
    const name = labels[i + 1];
    if (name === 'history') parts.push(words.history + ' ' + number(triple[1], span));
    if (name === 'truth' && !finite(row[1][1])) parts.push(words.truth + ' ' + number(triple[1], span));
    if (name !== 'newest') return;
    parts.push(words.median + ' ' + number(triple[1], span));
    if (triple[0] !== triple[2]) parts.push(words.band + ' ' + number(triple[0], span) + ' – ' + number(triple[2], span));
  });
  return parts.join('   ');
}

// The legend's part of dygraphs writes style attributes, which the page's policy forbids; ours is in the page.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((part) => part !== Dygraph.Plugins.Legend);

let graph = null;
function draw(place, series, words, tell) {
  clear();
  const made = rows(series, place.clientWidth < 520 ? 96 : Infinity);
  if (!made.data.length) return null;
  graph = new Dygraph(place, made.data, options(series, made, words, tell));
  return range(made.data);
}
function clear() {
  if (graph) graph.destroy();
  graph = null;
}
return {draw, clear, number, wholeTime, resize: () => graph && graph.resize()};
})();

// Keeps the page in step with the server: asks for the state every second, hears of events at once, shows both.
// Text from the server goes into the page as text only, never as markup.
'use strict';
(() => {
const $ = (id) => document.getElementById(id);
const EVERY = 1000, HIDDEN = 10000, PATIENCE = 5000, STALE = 3500;
let strings = null, language = 'en', status = null, answered = 0, locked = false, key = sessionStorage.getItem('plinth-key') || '';

// ---- words ----
function say(name, ...words) {
  return strings[language][name].replace(/\{(\d)\}/g, (all, i) => (i < words.length ? words[i] : all));
}
const whole = (n) => n.toLocaleString('en-US');
function seconds(s) {
  if (s === null || s === undefined) return '–';
  if (s < 0.001) return (s * 1e6).toFixed(0) + ' µs';
  if (s < 1) return (s * 1e3).toFixed(s < 0.01 ? 1 : 0) + ' ms';
  return s.toFixed(s < 10 ? 2 : 0) + ' s';
}
function bytes(b) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; b >= 1000 && i < units.length - 1; ++i) b /= 1000;
  return (i === 0 || b >= 100 ? b.toFixed(0) : b.toFixed(1)) + ' ' + units[i];
}
function long(s) {
  if (s < 90) return say('for_seconds', Math.floor(s));
  if (s < 5400) return say('for_minutes', Math.floor(s / 60));
  if (s < 172800) return say('for_hours', Math.floor(s / 3600), Math.floor(s % 3600 / 60));
  return say('for_days', Math.floor(s / 86400), Math.floor(s % 86400 / 3600));
}
const two = (n) => String(n).padStart(2, '0');
// The browser's own time; with the date where it is not today's.
function clock(text, always) {
  const t = new Date(text), now = new Date();
  const hours = two(t.getHours()) + ':' + two(t.getMinutes()) + ':' + two(t.getSeconds());
  const day = t.getFullYear() + '-' + two(t.getMonth() + 1) + '-' + two(t.getDate());
  return always || t.toDateString() !== now.toDateString() ? day + ' ' + hours : hours;
}
function zone() {
  const part = new Intl.DateTimeFormat('en', {timeZoneName: 'short'}).formatToParts(new Date()).find((p) => p.type === 'timeZoneName');
  return part ? part.value : '';
}
// The server's clock counts, not the browser's.
function ago(text) {
  const s = Math.max(0, (Date.parse(status.server.time) - Date.parse(text)) / 1000);
  if (s < 90) return say('ago_seconds', Math.floor(s));
  if (s < 5400) return say('ago_minutes', Math.floor(s / 60));
  if (s < 172800) return say('ago_hours', Math.floor(s / 3600));
  return say('ago_days', Math.floor(s / 86400));
}

// ---- pieces of the page ----
function make(tag, name, ...content) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  e.append(...content);
  return e;
}
const SVG = 'http://www.w3.org/2000/svg';
function drawn(tag, attributes, ...content) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...content);
  return e;
}
const shape = (name) => drawn('svg', {class: 'shape', 'aria-hidden': 'true'}, drawn('use', {href: '#shape-' + name}));
function write(e, words) {
  if (e.textContent !== words) e.textContent = words;
}
// Makes a part anew only when what it shows has changed, so that focus and selection stay where they are.
const shown = new Map();
function changed(part, ...what) {
  const now = language + JSON.stringify(what);
  if (shown.get(part) === now) return false;
  shown.set(part, now);
  return true;
}

function command(text) {
  const button = make('button', '', say('copy'));
  button.type = 'button';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = say('copied');
      setTimeout(() => { button.textContent = say('copy'); }, 2000);
    } catch {
      getSelection().selectAllChildren(button.previousSibling);
    }
  });
  return make('div', 'command', make('code', '', text), button);
}

// ---- state and banners ----
const names = (state) => status.models.filter((m) => m.evidence.state === state).map((m) => m.name).join(', ');
const gone = () => answered > 0 && Date.now() - answered > STALE;

function overall() {
  if (locked) return ['medium', 'high-taken', say('state_locked')];
  if (gone()) return ['high', 'gone', say('state_gone')];
  if (!status) return ['', 'normal', say('loading')];
  if (!status.ready) return ['high', 'high', say('state_not_ready')];
  if (names('failed')) return ['high', 'high', say('state_failed')];
  const waits = status.alarms.unacknowledged;
  if (waits > 0) {
    const worst = ['high', 'medium', 'low'].find((p) => status.alarms.list.some((a) => a.priority === p && !a.acknowledged && !a.shelved)) || 'low';
    return [worst, worst, waits === 1 ? say('state_alarm_1') : say('state_alarms', whole(waits))];
  }
  if (status.unproven) return ['medium', 'medium', say('state_unproven')];
  return ['', 'normal', say('state_normal')];
}

function banner(level, mark, title, ...text) {
  return make('div', 'banner ' + level, shape(mark), make('div', '', make('strong', '', title), ...text.map((t) => make('p', '', t))));
}
const REASONS = {
  'the service is about to stop': 'reason_stopping', 'models are being loaded': 'reason_loading',
  'no model is loaded': 'reason_no_model', 'the queue is full': 'reason_queue',
};
function reason(text) {
  return REASONS[text] ? say(REASONS[text]) : text;
}

function showState() {
  const [level, mark, words] = overall();
  if (changed('state', level, mark, words)) {
    $('state').className = 'state ' + level;
    $('state').replaceChildren(shape(mark), words);
    document.title = (level ? '▲ ' + words + ' – ' : '') + say('title');
  }
  document.body.classList.toggle('stale', gone());
  const list = [];
  if (gone()) list.push(['high', 'gone', say('gone_title', long((Date.now() - answered) / 1000)), say('gone_text', clock(status.server.time, true))]);
  if (status && !status.ready) list.push(['high', 'high', say('not_ready_title'), ...status.reasons.map(reason)]);
  if (status && names('failed')) list.push(['high', 'high', say('failed_title', names('failed')), say('failed_text')]);
  if (status && status.unproven) {
    const unproven = status.models.filter((m) => m.evidence.state !== 'proven' && m.evidence.state !== 'failed').map((m) => m.name).join(', ');
    if (unproven) list.push(['medium', 'medium', say('unproven_title', unproven), say('unproven_text')]);
  }
  if (status && status.alarms.not_saved) list.push(['medium', 'medium', say('not_saved_title'), say('not_saved_text', status.alarms.not_saved)]);
  if (changed('banners', list)) $('banners').replaceChildren(...list.map((b) => banner(...b)));
}

// ---- figures ----
// A line over the slots, with gaps where nothing was measured; a slot between two gaps is a dot.
function line(values, most, name) {
  let path = '', dots = '';
  values.forEach((v, i) => {
    if (v === null) return;
    const at = (i / (values.length - 1) * 98 + 1).toFixed(2) + ' ' + (39 - Math.min(1, v / most) * 36).toFixed(2);
    const before = i > 0 && values[i - 1] !== null, after = i + 1 < values.length && values[i + 1] !== null;
    if (before || after) path += (before ? 'L' : 'M') + at;
    else dots += 'M' + at + 'h.01';
  });
  return [['line ' + name, path], ['dots ' + name, dots]].filter(([, d]) => d)
    .map(([kind, d]) => drawn('path', {class: kind, d, 'vector-effect': 'non-scaling-stroke'}));
}
function trend(values, behind, tell) {
  const all = values.concat(behind || []).filter((v) => v !== null);
  const most = Math.max(...all, 0);
  const picture = drawn('svg', {viewBox: '0 0 100 42', preserveAspectRatio: 'none', role: 'img', 'aria-label': say('trend_label', tell(most))},
    drawn('path', {class: 'base', d: 'M0 40.5h100', 'vector-effect': 'non-scaling-stroke'}));
  if (behind) picture.append(...line(behind, most || 1, 'soft'));
  picture.append(...line(values, most || 1, ''));
  return picture;
}
function level(part) {
  const width = Math.max(0, Math.min(1, part)) * 100;
  return drawn('svg', {viewBox: '0 0 100 42', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    drawn('rect', {class: 'rest', x: 0, y: 16, width: 100, height: 12, 'vector-effect': 'non-scaling-stroke'}),
    drawn('rect', {class: 'fill', x: 0, y: 16, width, height: 12}));
}
function bars(counts) {
  const most = Math.max(...counts, 1), sizes = ['1', '2', '4', '8', '16', '32', '64', '128', '256', '512', '1k', '>1k'];
  const last = Math.max(7, counts.reduce((at, c, i) => (c ? i : at), 0));
  const picture = drawn('svg', {viewBox: '0 0 ' + (last + 1) * 20 + ' 42', preserveAspectRatio: 'xMinYMid', role: 'img',
    'aria-label': counts.map((c, i) => (c ? sizes[i] + ': ' + whole(c) : '')).filter(Boolean).join(', ') || '–'});
  for (let i = 0; i <= last; ++i) {
    const height = counts[i] ? Math.max(1.5, counts[i] / most * 28) : 0.8;
    picture.append(drawn('rect', {class: counts[i] ? 'bar' : 'soft', x: i * 20 + 3, y: 30 - height, width: 14, height}),
      drawn('text', {x: i * 20 + 10, y: 41}, sizes[i]));
  }
  return picture;
}
function figure(name, value, unit, picture, more, level) {
  const box = $('figure-' + name);
  if (!changed(name, value, unit, more, picture.outerHTML, level)) return;
  box.querySelector('.value').replaceChildren(value, ...(unit ? [make('small', '', unit)] : []));
  box.querySelector('.trend').replaceChildren(picture);
  box.querySelector('.more').replaceChildren(...more.flatMap((m, i) => [i ? ' · ' : '', m]));
}

let busy = [];  // [server's seconds, busy seconds] of the last polls
function busyPart() {
  const now = [status.server.uptime_seconds, status.engine.busy_seconds];
  if (busy.length && busy[busy.length - 1][0] > now[0]) busy = [];
  if (!busy.length || busy[busy.length - 1][0] < now[0]) busy.push(now);
  while (busy.length > 11) busy.shift();
  const took = now[0] - busy[0][0];
  return took > 0 ? Math.min(1, (now[1] - busy[0][1]) / took) : null;
}

function showFigures() {
  const load = status.load, engine = status.engine, slots = load.slots;
  const rate = (slots[slots.length - 2].requests + slots[slots.length - 3].requests) / (2 * load.slot_seconds);
  const told = [say('rate_more', whole(load.requests))];
  for (const kind of ['wrong', 'refused', 'failed']) {
    if (load[kind] === 0) continue;
    const words = say(kind, whole(load[kind]));
    told.push(kind === 'failed' ? make('b', 'mark high', shape('high'), words) : make('b', '', words));
  }
  figure('rate', rate >= 100 ? whole(Math.round(rate)) : rate.toFixed(1), '', trend(slots.map((s) => s.requests / load.slot_seconds), null, (v) => v.toFixed(1)), told, load.failed);
  figure('time', seconds(load.median_seconds), '', trend(slots.map((s) => s.median_seconds), slots.map((s) => s.p99_seconds), seconds),
    [say('answer_more', seconds(load.p90_seconds), seconds(load.p99_seconds), seconds(load.largest_seconds))]);
  figure('batch', load.batch_series === null ? '–' : load.batch_series.toFixed(load.batch_series < 10 ? 1 : 0), '', bars(load.batches), [say('batch_more')]);
  const full = engine.waiting >= engine.queue;
  figure('queue', whole(engine.waiting), say('queue_of', whole(engine.queue)), level(engine.waiting / engine.queue),
    [say('queue_more', whole(engine.running))].concat(full ? [make('b', 'mark high', shape('high'), say('reason_queue'))] : []), full);
  const part = busyPart();
  figure('engine', part === null ? '–' : (part * 100).toFixed(0), part === null ? '' : '%', level(part || 0),
    [say('engine_more', engine.devices.join(', '), engine.threads, engine.instructions)]);
  const memory = status.memory;
  figure('memory', bytes(memory.resident_bytes), '', level(memory.resident_bytes / (memory.resident_bytes + memory.available_bytes)),
    [say('memory_more', bytes(memory.available_bytes))]);
}

// ---- alarms ----
let taking = null;  // the alarm that a dialog is about
const place = (a) => [a.item, a.target].filter(Boolean).join(' · ') || a.model || a.source;

function alarmRow(a) {
  const taken = Boolean(a.acknowledged || a.shelved);
  const row = make('tr', (taken ? 'taken ' : 'open ') + a.priority);
  row.append(make('td', '', make('span', 'mark', shape(a.priority + (taken ? '-taken' : '')), say('priority_' + a.priority))), make('td', '', clock(a.raised)));
  const where = make('td', '', place(a));
  where.dir = 'auto';
  if (a.model && place(a) !== a.model) where.append(make('small', '', a.model));
  const what = make('td', '', a.message);
  what.dir = 'auto';
  if (a.count > 1) what.append(make('small', '', say('times_seen', whole(a.count), clock(a.last))));
  row.append(where, what, make('td', '', a.ended ? say('condition_over', clock(a.ended)) : say('condition_lasts')));
  const cell = make('td', '');
  const button = (act, then) => {
    const made = make('button', '', say('act_' + act));
    made.type = 'button';
    made.dataset.alarm = a.id;
    made.dataset.act = act;
    made.setAttribute('aria-label', say('label_' + act, a.id + ': ' + place(a)));
    made.addEventListener('click', then);
    return made;
  };
  if (a.acknowledged) {
    cell.append(say('acknowledged_by', a.by, clock(a.acknowledged)));
    if (a.note) cell.append(make('small', '', a.note));
  }
  if (a.shelved) {
    cell.append(make('p', 'shelf', say('shelved_until', clock(a.shelved.until), a.shelved.by), make('small', '', a.shelved.why)));
    cell.append(button('unshelve', () => ask(a, 'unshelve')));
  } else {
    if (!a.acknowledged) cell.append(button('acknowledge', () => ask(a, 'acknowledge')), ' ');
    if (!a.ended) cell.append(button('shelve', () => ask(a, 'shelve')));
  }
  row.append(cell);
  return row;
}

function showAlarms() {
  const alarms = status.alarms;
  write($('alarms-count'), alarms.all ? say('alarms_count', whole(alarms.unacknowledged), whole(alarms.open)) : '');
  const hints = [];
  if (alarms.dropped) hints.push(say('alarms_dropped', whole(alarms.dropped)));
  if (alarms.all > alarms.list.length) hints.push(say('alarms_more', whole(alarms.list.length), whole(alarms.all)));
  if (alarms.shelved) hints.push(say('alarms_shelved', whole(alarms.shelved)));
  const seen = Object.entries(status.input.found).filter(([, n]) => n > 0);
  if (seen.length) hints.push(say('input_found', whole(status.input.windows), seen.map(([kind, n]) => say('input_' + kind) + ' ' + whole(n)).join(', ')));
  if (alarms.all && !alarms.kept_on_disk) hints.push(say('alarms_volatile'));
  write($('alarms-hint'), hints.join(' '));
  $('alarms-hint').hidden = !hints.length;
  $('alarms-none').hidden = alarms.list.length > 0;
  $('alarms-scroll').hidden = !alarms.list.length;
  if (!changed('alarms', alarms.list)) return;
  const held = document.activeElement && document.activeElement.dataset.alarm ? document.activeElement.dataset : null;
  const focus = held && '[data-alarm="' + Number(held.alarm) + '"]', act = held && held.act;
  $('alarms').tBodies[0].replaceChildren(...alarms.list.map(alarmRow));
  const again = focus && Array.from($('alarms').querySelectorAll(focus)).find((e) => e.dataset.act === act);
  if (again) again.focus();
}

// One dialog for all that a person does with an alarm.
let act = 'acknowledge';
function ask(a, what) {
  taking = a;
  act = what;
  $('act').className = what;
  write($('act-title'), say('title_' + what));
  write($('act-yes'), say('act_' + what));
  write($('note-label'), what === 'shelve' ? say('why') : say('note'));
  write($('act-what'), '#' + a.id + ' ' + place(a) + ': ' + a.message);
  write($('act-wrong'), '');
  $('by').value = sessionStorage.getItem('plinth-by') || '';
  $('note').value = '';
  $('act').showModal();
  ($('by').value ? (what === 'shelve' ? $('minutes') : what === 'unshelve' ? $('act-yes') : $('note')) : $('by')).focus();
}
async function perform() {
  const by = $('by').value.trim(), note = $('note').value.trim(), minutes = Number($('minutes').value);
  const wrong = (words, field) => {
    write($('act-wrong'), words);
    $(field).focus();
  };
  if (!by) return wrong(say('by_missing'), 'by');
  if (act === 'shelve' && !(Number.isInteger(minutes) && minutes >= 1 && minutes <= 10080)) return wrong(say('minutes_wrong'), 'minutes');
  if (act === 'shelve' && !note) return wrong(say('why_missing'), 'note');
  const body = {acknowledge: {by, note}, shelve: {by, why: note, minutes}, unshelve: {by}}[act];
  $('act-yes').disabled = true;
  try {
    const answer = await request('/v1/alarms/' + taking.id + '/' + act,
      {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)});
    if (!answer.ok) throw new Error((await answer.json()).error || answer.status);
    sessionStorage.setItem('plinth-by', by);
    $('act').close();
    poll();
  } catch (error) {
    write($('act-wrong'), say('act_failed', error.message));
  } finally {
    $('act-yes').disabled = false;
  }
}

// ---- forecasts ----
let chosen = null, series = null, asking = false;
const title = (s) => (s.item === '' ? say('unnamed') : s.item) + ' · ' + s.target;

function showList() {
  const list = status.forecasts;
  $('forecasts').hidden = !list.length;
  $('forecasts-none').hidden = list.length > 0;
  write($('forecasts-count'), list.length ? say('forecasts_count', whole(list.length)) : '');
  if (!list.length) {
    chosen = series = null;
    Chart.clear();
    return;
  }
  if (!list.some((s) => s.id === chosen)) chosen = list[0].id;
  // In the order of their names, so that nothing moves under a finger.
  const sorted = list.slice().sort((a, b) => title(a).localeCompare(title(b), 'en', {numeric: true}) || a.id - b.id);
  if (changed('list', sorted.map((s) => [s.id, s.item, s.target]))) {
    const focus = document.activeElement && document.activeElement.dataset.series;
    $('series').replaceChildren(...sorted.map((s) => {
      const button = make('button', '', make('span', 'name', title(s)), make('span', 'age'));
      button.type = 'button';
      button.dir = 'auto';
      button.dataset.series = s.id;
      button.title = title(s);
      button.addEventListener('click', () => {
        chosen = s.id;
        showList();
        showSeries();
      });
      return make('li', '', button);
    }));
    const again = focus && $('series').querySelector('[data-series="' + Number(focus) + '"]');
    if (again) again.focus();
  }
  for (const s of list) {
    const button = $('series').querySelector('[data-series="' + s.id + '"]');
    button.setAttribute('aria-pressed', String(s.id === chosen));
    write(button.querySelector('.age'), ago(s.issued) + (s.known ? ' · ' + Math.round(s.inside / s.known * 100) + ' %' : ''));
  }
}

function showFacts(s) {
  const facts = [say('facts_model', s.model, say('evidence_' + s.evidence).toLowerCase()), say('facts_issued', clock(s.issued) + ', ' + ago(s.issued))];
  if (series && series.id === s.id && series.forecasts.length) facts.push(say('facts_steps', whole(series.forecasts[0].times.length)));
  facts.push(s.frequency ? say('facts_every', s.frequency.replace(/^(?=[^0-9])/, '1 ')) : say('facts_numbered'));
  facts.push(s.known ? say('facts_inside', whole(s.inside), whole(s.known)) : say('facts_no_truth'));
  write($('series-name'), title(s));
  write($('series-facts'), facts.join(' · '));
}

function showNumbers() {
  const f = series.forecasts[0], all = f.low.concat(f.high, f.median).filter((v) => v !== null);
  const span = Math.max(...all) - Math.min(...all);
  $('numbers').querySelector('tbody').replaceChildren(...f.times.map((t, i) => make('tr', '',
    make('td', '', series.numbered ? String(t) : Chart.wholeTime(t + series.offset_ms)),
    ...[f.low[i], f.median[i], f.high[i], f.truth[i]].map((v) => make('td', '', Chart.number(v, span))))));
}

function drawSeries() {
  if (!series || !series.forecasts.length) return;
  const percent = series.forecasts[0].band;
  const band = percent > 0 ? say('band', Math.round(percent * 10) / 10) : say('no_band');
  write($('band-name'), band);
  write($('readout'), '');
  Chart.draw($('chart'), series, {history: say('history'), median: say('median'), truth: say('truth'), band}, (text) => write($('readout'), text));
  showNumbers();
}

async function showSeries() {
  const s = status.forecasts.find((one) => one.id === chosen);
  if (!s) return;
  showFacts(s);
  if (asking || (series && series.id === s.id && series.version === s.version)) return;
  asking = true;
  try {
    const answer = await request('/v1/recent/' + s.id);
    if (answer.ok) series = await answer.json();
  } catch {
    return;
  } finally {
    asking = false;
  }
  if (series && series.id !== chosen) {
    showSeries();
    return;
  }
  showFacts(s);
  drawSeries();
}

// ---- models ----
const EVIDENCE = {proven: ['', 'normal'], unproven: ['medium', 'medium'], stale: ['medium', 'medium'], failed: ['high', 'high']};

function modelCard(m) {
  const [level, mark] = EVIDENCE[m.evidence.state] || ['medium', 'medium'];
  const card = make('article', 'model ' + level);
  const name = make('h3', '', m.name);
  card.append(make('div', 'title', name, make('span', 'evidence', shape(mark), say('evidence_' + m.evidence.state))));
  card.append(make('p', 'sentence', say('means_' + m.evidence.state) + (m.evidence.self_attested ? ' ' + say('self_attested') : '')));
  const detail = make('p', 'sentence label', m.evidence.sentence);
  detail.lang = 'en';
  if (m.evidence.sentence) card.append(detail);
  if (m.evidence.command) card.append(make('p', 'mend', say('mend')), command(m.evidence.command));
  const facts = make('dl', '');
  for (const [what, value] of [
    ['device', m.device + ' · ' + m.precision], ['aliases', m.aliases.join(', ') || say('none')], ['loaded', clock(m.loaded_at, true)],
    ['weights', bytes(m.weight_bytes)], ['work_memory', bytes(m.arena_bytes)],
    ['bounds', say('bounds_value', whole(m.bounds.series), whole(m.bounds.context), whole(m.bounds.horizon))],
  ]) facts.append(make('div', '', make('dt', '', say(what)), make('dd', '', value)));
  card.append(facts);
  return card;
}

function showModels() {
  write($('models-count'), say('models_count', whole(status.models.length)));
  if (!changed('models', status.models)) return;
  $('models').replaceChildren(...(status.models.length ? status.models.map(modelCard) : [make('p', 'none', say('no_models'))]));
}

// ---- the whole ----
function show() {
  showState();
  if (!status) return;
  const time = document.querySelector('#clock time');
  write(time, clock(status.server.time) + ' ' + zone());
  time.dateTime = status.server.time;
  showFigures();
  showAlarms();
  showList();
  showSeries();
  showModels();
  write($('service'), say('service', status.server.version, long(status.server.uptime_seconds), clock(status.server.started, true)));
}

function speak(to) {
  language = to;
  localStorage.setItem('plinth-language', to);
  document.documentElement.lang = to === 'zh' ? 'zh-CN' : 'en';
  for (const e of document.querySelectorAll('[data-say]')) e.textContent = say(e.dataset.say);
  $('language').textContent = say('language');
  $('language').lang = to === 'zh' ? 'en' : 'zh-CN';
  $('language').setAttribute('aria-label', say('language_label'));
  show();
  drawSeries();
}

// ---- the server ----
function request(path, options = {}) {
  const headers = {...options.headers};
  if (key) headers.authorization = 'Bearer ' + key;
  return fetch(path, {cache: 'no-store', credentials: 'same-origin', signal: AbortSignal.timeout(PATIENCE), ...options, headers});
}

let timer = 0, polling = false;
async function poll() {
  clearTimeout(timer);
  if (polling) return;
  polling = true;
  try {
    const answer = await request('/v1/status');
    if (answer.status === 401 || answer.status === 403) {
      lock(answer.status);
    } else if (answer.ok) {
      status = await answer.json();
      answered = Date.now();
      locked = false;
    }
  } catch {
    // What the page shows grows old, which it says by itself.
  }
  polling = false;
  show();
  if (!locked) timer = setTimeout(poll, document.hidden ? HIDDEN : EVERY);
}

function lock() {
  locked = true;
  const wrong = key !== '';
  key = '';
  sessionStorage.removeItem('plinth-key');
  write($('entry-wrong'), wrong ? say('key_wrong') : '');
  if (!$('entry').open) $('entry').showModal();
  $('key').focus();
}
function unlock() {
  key = $('key').value.trim();
  if (!key) return;
  sessionStorage.setItem('plinth-key', key);
  $('key').value = '';
  $('entry').close();
  locked = false;
  poll();
  listen();
}

// Events say that there is something new; what it is, the next poll tells. EventSource cannot send a key.
let listening = false;
async function listen() {
  if (listening) return;
  listening = true;
  try {
    const answer = await request('/v1/events', {signal: undefined, headers: {accept: 'text/event-stream'}});
    const reader = answer.ok ? answer.body.getReader() : null;
    const decoder = new TextDecoder();
    let text = '';
    while (reader) {
      const {done, value} = await reader.read();
      if (done) break;
      text += decoder.decode(value, {stream: true});
      const end = text.lastIndexOf('\n\n');
      if (end < 0) continue;
      if (/^event: (alarm|forecast|lost)$/m.test(text.slice(0, end))) soon();
      text = text.slice(end + 2);
    }
  } catch {
    // The poll goes on without it.
  }
  listening = false;
  if (!locked) setTimeout(listen, 3000);
}
let due = 0;
function soon() {
  if (due) return;
  due = setTimeout(() => {
    due = 0;
    if (!document.hidden) poll();
  }, 250);
}

async function begin() {
  strings = await (await fetch('/assets/strings.json')).json();
  const wanted = new URLSearchParams(location.search).get('lang') || localStorage.getItem('plinth-language') || navigator.language;
  write($('place'), location.host);
  write($('example'), 'curl ' + location.origin + '/v1/forecast -H "content-type: application/json" -d \'{"horizon": 4, "freq": "1h", ' +
    '"series": {"y": [2, 4, 3, 5, 4, 6], "sizes": [6], "items": ["pump-1"], "start": "2026-01-01T00:00:00Z"}}\'');
  $('language').addEventListener('click', () => speak(language === 'en' ? 'zh' : 'en'));
  const submit = (form, then) => $(form).addEventListener('submit', (e) => {
    e.preventDefault();
    then();
  });
  submit('act-form', perform);
  submit('entry-form', unlock);
  for (const field of ['by', 'note', 'minutes']) $(field).addEventListener('input', () => write($('act-wrong'), ''));
  $('act-no').addEventListener('click', () => $('act').close());
  // Without a key there is nothing to see behind it.
  $('entry').addEventListener('cancel', (e) => e.preventDefault());
  document.addEventListener('visibilitychange', () => { if (!document.hidden && !locked) poll(); });
  addEventListener('resize', () => Chart.resize());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawSeries);
  speak(wanted.startsWith('zh') ? 'zh' : 'en');
  poll();
  listen();
  // While the server is silent, the page says for how long.
  setInterval(() => { if (gone()) showState(); }, 1000);
}
begin();
})();

// Shared by all charts over time: dygraphs options, linked zoom, keys, a readout of exact values, colours of the theme.

Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);  // ours is text, not HTML

const charts = [];  // all time charts, zoomed together
let windowOf = null;  // [from, to] while zoomed

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

function faded(name, alpha) {
  const hex = colour(name).replace('#', '');
  const part = at => parseInt(hex.slice(at, at + 2), 16);
  return `rgba(${part(0)},${part(2)},${part(4)},${alpha})`;
}

const spacings = [1e-3, 2e-3, 5e-3, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function timeTicks(from, to, pixels) {
  const wanted = (to - from) / Math.max(2, pixels / 90);
  const step = spacings.find(spacing => spacing >= wanted) || Math.ceil(wanted / 86400) * 86400;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step * 1e-6; at += step) ticks.push({v: at, label: timeLabel(at, step)});
  return ticks;
}

function timeLabel(at, step) {
  const two = n => String(n).padStart(2, '0'), whole = Math.round(at);
  if (step < 1) return at.toFixed(step < .01 ? 3 : step < .1 ? 2 : 1) + ' s';
  if (at < 60 && step < 60) return whole + ' s';
  if (step < 60) return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
  if (whole < 3600 && step < 3600) return Math.floor(whole / 60) + ' min';
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole % 3600 / 60))} h`;
}

function byteTicks(from, to, pixels) {
  const wanted = (to - from) / Math.max(2, pixels / 42), power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 2.5, 5, 10].map(n => n * power).find(n => n >= wanted);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to * (1 + 1e-9); at += step) {
    const unit = Math.min(5, Math.max(0, Math.floor(Math.log10(Math.max(to, 1)) / 3)));
    const digits = Math.max(0, Math.ceil(-Math.log10(step / 1000 ** unit) - 1e-9));
    ticks.push({v: at, label: at === 0 ? '0' : (at / 1000 ** unit).toFixed(Math.min(3, digits)) + ' ' + units[unit]});
  }
  return ticks;
}

// A span of the value axis that neither hides small growth nor makes noise look like much.
function byteRange(low, high, fromZero) {
  if (low === null) return [0, 1];
  if (fromZero) return [0, high * 1.08 || 1];
  const middle = (low + high) / 2, half = Math.max((high - low) / 2 * 1.12, high * .04, 1);
  return [Math.max(0, middle - half), middle + half];
}

// One chart: {element, label, names, rows(), describe(row) -> text pairs, options, range(from, to)}.
class Chart {
  constructor(host, spec) {
    this.spec = spec;  // keys act on the cursor: the row that was read last
    this.plot = make('div', {class: 'plot ' + (spec.tall ? 'tall' : ''), tabindex: 0, role: 'application', 'aria-roledescription': 'chart', 'aria-label': spec.label,
      onkeydown: event => this.key(event)});
    this.readout = make('div', {class: 'readout', role: 'status'});
    this.reset = make('button', {type: 'button', class: 'small', hidden: true, onclick: () => zoomAll(null)}, 'Show all');
    this.tools = make('div', {class: 'tools'}, this.readout, ...(spec.tools || []), this.reset);
    host.append(this.tools, this.plot);
    if (spec.id) this.plot.id = spec.id;
    this.rows = spec.rows();
    this.cursor = null;
    this.graph = new Dygraph(this.plot, this.rows, this.options());
    this.plot.dygraph = this.graph;
    this.idle();
    charts.push(this);
  }

  options() {
    const spec = this.spec;
    return {
      labels: ['time', ...spec.names], legend: 'never', connectSeparatedPoints: false, strokeWidth: 1.5, axisLineColor: colour('rule'),
      gridLineColor: colour('grid'), axisLabelFontSize: 12, highlightCircleSize: 3.5, animatedZooms: false, rightGap: 12, xRangePad: 2,
      dateWindow: windowOf, labelsUTC: true, colors: spec.colours ? spec.colours() : undefined,
      axes: {
        x: {ticker: (a, b, pixels) => timeTicks(a, b, pixels), axisLabelFormatter: v => timeLabel(v, 1), drawGrid: false},
        y: spec.bytes ? {ticker: (a, b, pixels) => byteTicks(a, b, pixels), axisLabelWidth: 64} : {axisLabelWidth: 64, axisLabelFormatter: v => number(v, 3)},
        ...(spec.axes || {}),
      },
      valueRange: spec.range ? spec.range(...(windowOf || [-Infinity, Infinity])) : undefined,
      highlightCallback: (event, x, points, row) => this.show(row),
      unhighlightCallback: () => this.idle(),
      zoomCallback: (from, to) => zoomAll(this.graph.isZoomed('x') ? [from, to] : null),
      ...(spec.options ? spec.options() : {}),
    };
  }

  // Rows anew, or only a new look.
  refresh(rows) {
    if (rows) this.rows = rows;
    this.graph.updateOptions({...this.options(), file: this.rows});
    if (this.cursor === null) this.idle();
  }

  show(row) {
    if (row === undefined || row < 0 || row >= this.rows.length) return;
    this.cursor = row;
    this.readout.replaceChildren(...this.spec.describe(this.rows[row], row).filter(Boolean).map(([name, value, key]) =>
      make('span', {class: 'value'}, key ? swatch(key) : null, make('span', {class: 'name'}, name), ' ', make('b', {}, value))));
  }

  idle() {
    if (this.spec.hint) this.readout.replaceChildren(make('span', {class: 'hint'}, this.spec.hint));
    else this.show(this.rows.length - 1);  // at rest, where it ended
    this.cursor = null;
  }

  visible() {
    const [from, to] = this.graph.xAxisRange();
    return [from, to];
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const [from, to] = this.visible(), span = to - from, whole = this.graph.xAxisExtremes();
    const zoom = factor => {
      const middle = this.cursor !== null ? Math.min(to, Math.max(from, this.rows[this.cursor][0])) : (from + to) / 2;
      const next = [middle - (middle - from) * factor, middle + (to - middle) * factor];
      zoomAll(next[1] - next[0] >= whole[1] - whole[0] ? null : next);
    };
    const pan = share => {
      const by = Math.max(whole[0] - from, Math.min(whole[1] - to, span * share));
      zoomAll([from + by, to + by]);
    };
    const step = by => {
      let at = this.cursor === null ? this.rows.findIndex(row => row[0] >= from) - 1 : this.cursor;
      at = Math.max(0, Math.min(this.rows.length - 1, at + by));
      this.graph.setSelection(at);
      this.show(at);
      const time = this.rows[at][0];
      if (windowOf && (time < from || time > to)) zoomAll([time - span / 2, time + span / 2]);
    };
    const big = Math.max(1, Math.round(this.rows.length / 50));
    const actions = {
      '+': () => zoom(.5), '=': () => zoom(.5), '-': () => zoom(2), '0': () => zoomAll(null), Escape: () => zoomAll(null),
      ArrowLeft: () => event.shiftKey ? pan(-.25) : step(-1), ArrowRight: () => event.shiftKey ? pan(.25) : step(1),
      PageUp: () => step(-big), PageDown: () => step(big), Home: () => step(-this.rows.length), End: () => step(this.rows.length),
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  }
}

let linking = false;

function zoomAll(range) {
  if (linking) return;
  linking = true;
  windowOf = range;
  for (const chart of charts) {
    chart.reset.hidden = !range;
    chart.graph.updateOptions({dateWindow: range, valueRange: chart.spec.range ? chart.spec.range(...(range || [-Infinity, Infinity])) : null});
  }
  linking = false;
}

function swatch(key) {
  const mark = make('i', {class: 'swatch', 'aria-hidden': 'true'});
  mark.style.background = key;
  return mark;
}

// Buttons that show and hide the series of a chart, coloured as they are.
function legend(chart, entries) {
  return make('ul', {class: 'legend'}, ...entries.map(({index, name, key, off}) => {
    if (index === undefined) return make('li', {}, swatch(key), name);
    const button = make('button', {type: 'button', 'aria-pressed': off ? 'false' : 'true', onclick: () => {
      const now = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(now));
      chart.graph.setVisibility(index, now);
    }}, swatch(key), name);
    return make('li', {}, button);
  }));
}

// The figures of a chart for those who do not see it, and for those who want to copy them.
function asTable(title, heads, rows) {
  const details = make('details', {class: 'figures'}, make('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(make('div', {class: 'scroll', tabindex: 0}, plainTable(heads, rows())));
  });
  return details;
}

// At most `most` rows, evenly spread, the last one among them.
function spread(rows, most) {
  if (rows.length <= most) return rows;
  return Array.from({length: most}, (_, i) => rows[Math.round(i * (rows.length - 1) / (most - 1))]);
}

function section(id, title, note) {
  const head = make('h2', {id: id + '-title'}, title);
  const body = make('section', {id, 'aria-labelledby': id + '-title'}, head, note ? make('p', {class: 'note'}, note) : null);
  return body;
}

// The verdict, and the memory of the run with its floor, trend, phases, spikes and events.

// "Leak: …" with the first word in the verdict's colour; the text stays the same.
function emphasised(sentence) {
  const end = sentence.indexOf(':') + 1;
  return end > 0 && end < 12 ? [make('strong', {class: 'kind'}, sentence.slice(0, end)), sentence.slice(end)] : [sentence];
}

function figure(name, value, detail) {
  return make('div', {class: 'figure'}, make('dt', {}, name), make('dd', {}, value), detail ? make('dd', {class: 'detail'}, detail) : null);
}

function verdictCard(run, label) {
  const verdict = run.verdict;
  if (!verdict)
    return make('div', {class: 'verdict undecided'}, make('p', {class: 'kind'}, label ? label + ': no verdict' : 'No verdict yet'),
      make('p', {class: 'sentence'}, 'There are no memory samples to judge.'));
  const [seconds, unit] = pace(verdict.rate_bytes_per_second || verdict.ruled_out_bytes_per_second);
  const rate = value => bytes(value * seconds);
  const [low, high] = verdict.rate_interval;
  // What grows is said to, whether or not it is called a leak.
  const grows = verdict.verdict === 'leak' || verdict.verdict === 'undecided' && verdict.growing && verdict.rate_bytes_per_second > 0;
  const [, peak] = extremes(rowsOf(run.memory, 'bytes').map(row => row[0]));
  const culprit = verdict.culprit;
  return make('div', {class: 'verdict ' + verdict.verdict},
    label ? make('p', {class: 'kind'}, label) : null,
    make('p', {class: 'sentence', id: label ? null : 'sentence'}, ...emphasised(verdict.sentence)),
    make('dl', {class: 'figures-row'},
      grows ? figure('Grows by', `${rate(verdict.rate_bytes_per_second)} ${unit}`, `95 %: ${rate(low)} to ${rate(high)}`)
        : verdict.ruled_out_bytes_per_second === null ? figure('Ruled out', 'nothing yet', `${count(verdict.samples)} samples are too few`)
        : figure('Ruled out', `above ${bytes(verdict.ruled_out_bytes_per_second * pace(verdict.ruled_out_bytes_per_second)[0])} ${pace(verdict.ruled_out_bytes_per_second)[1]}`,
          `fitted: ${rate(verdict.rate_bytes_per_second)} ${unit}`),
      figure('Time to the line', grows && verdict.seconds_to_limit !== null ? duration(verdict.seconds_to_limit) : grows ? 'no line known' : 'not reached',
        run.line ? `line at ${bytes(run.line)}` : 'no line recorded'),
      figure('Process', culprit ? culprit.name : grows ? 'the run itself' : 'none grows',
        culprit ? `${culprit.members > 1 ? culprit.members + ' processes, ' : culprit.pid ? 'pid ' + culprit.pid + ', ' : ''}${culprit.role || 'role unknown'}, ${Math.round(100 * culprit.share)} % of the growth` : ''),
      figure('Floor', bytes(verdict.floor_end_bytes), `began at ${bytes(verdict.floor_start_bytes)}, peak ${bytes(peak)}`)));
}

function phaseKey(name) {
  if (/^(val|eval|test)/.test(name)) return 'phase-validate';
  if (/^(save|checkpoint)/.test(name)) return 'phase-checkpoint';
  if (/^(sample|generate)/.test(name)) return 'phase-sample';
  return 'phase-other';
}

const isTraining = name => name === '' || /^train/.test(name);

// Linear between the points of a table; null outside.
function between(points, time, column) {
  if (!points.length || time < points[0][0] || time > points[points.length - 1][0]) return null;
  let low = 0, high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= time) low = middle; else high = middle;
  }
  const a = points[low], b = points[high];
  return b[0] === a[0] ? a[column] : a[column] + (b[column] - a[column]) * (time - a[0]) / (b[0] - a[0]);
}

class MemorySection {
  constructor(main) {
    this.host = section('memory', 'Memory over time');
    this.fromZero = null;
    this.lineShown = null;
    this.host.hidden = true;
    main.append(this.host);
  }

  take(run) {
    this.run = run;
    const memory = rowsOf(run.memory, 'time', 'bytes', 'rss', 'step', 'file');
    this.floor = rowsOf(run.floor, 'time', 'bytes');
    this.trend = rowsOf(run.trend, 'time', 'low', 'bytes', 'high');
    this.steps = memory.map(row => row[3]);
    this.measured = [extremes(memory.map(row => row[1]))][0];
    this.files = memory.some(row => row[4] > 0);
    this.rows = memory.map(([time, value, rss, , file]) => [time, value, between(this.floor, time, 1), between(this.trend, time, 2), rss,
      file === null || file === undefined ? null : value + file]);
  }

  update(run) {
    if (!run.memory.rows.length) return;
    this.take(run);
    this.host.hidden = false;
    if (!this.chart) this.build();
    else this.chart.refresh(this.rows);
    this.marks();
  }

  build() {
    const pss = this.run.memory.measure === 'pss', [low, high] = this.measured;
    this.fromZero = high > 0 && (high - low) / high > .4;
    this.lineShown = Boolean(this.run.line) && this.run.line < 2.5 * high;
    const toggle = (text, name) => {
      const button = make('button', {type: 'button', class: 'small', 'aria-pressed': String(this[name]), onclick: () => {
        this[name] = !this[name];
        button.setAttribute('aria-pressed', String(this[name]));
        this.chart.refresh();
        this.marks();
      }}, text);
      return button;
    };
    this.host.append(make('p', {class: 'note'}, pss
      ? 'What the whole tree owns, shared pages counted once (PSS). The floor is what remains after spikes have come back down.' +
        (this.files ? ' Pages of files (libraries, mapped data) may be shared with other programs; they are a band of their own and are not judged.' : '')
      : 'Resident memory of the process. The floor is what remains after spikes have come back down.'));
    this.chart = new Chart(this.host, {
      id: 'memory-chart', label: this.spoken(), bytes: true, tall: true, hint: 'Drag to zoom, double-click to reset; arrow keys read values, + and − zoom.',
      names: ['memory', 'floor', 'trend', 'RSS', 'with file pages'],
      colours: () => [colour('memory'), colour('floor'), colour('trend'), colour('faint'), colour('faint')],
      rows: () => this.rows,
      tools: [toggle('From zero', 'fromZero'), this.run.line ? toggle('Show the line', 'lineShown') : null].filter(Boolean),
      range: (from, to) => this.range(from, to),
      options: () => ({
        underlayCallback: (canvas, area, graph) => this.underlay(canvas, area, graph),
        series: {
          memory: {strokeWidth: 1.3}, floor: {strokeWidth: 2}, trend: {strokeWidth: 1.5, strokePattern: [6, 4]}, RSS: {strokeWidth: 1}, 'with file pages': {strokeWidth: .5},
        },
        visibility: this.chart ? this.chart.graph.visibility() : [true, true, true, false, false],
      }),
      describe: (row, at) => this.describe(row, at),
    });
    const kinds = [...new Set(rowsOf(this.run.phases, 'name').map(row => row[0]).filter(name => !isTraining(name)))];
    this.host.append(legend(this.chart, [
      {index: 0, name: pss ? 'memory (PSS)' : 'memory (RSS)', key: 'var(--memory)'}, {index: 1, name: 'floor', key: 'var(--floor)'},
      {index: 2, name: 'fitted trend, 95 % band', key: 'var(--trend)'},
      ...(pss ? [{index: 3, name: 'sum of RSS', key: 'var(--faint)', off: true}] : []),
      ...(this.files ? [{index: 4, name: 'file pages', key: 'var(--faint)', off: true}] : []),
      ...(this.run.line ? [{name: `the line, ${bytes(this.run.line)}`, key: 'var(--line)'}] : []),
      ...kinds.slice(0, 6).map(name => ({name, key: `var(--${phaseKey(name)})`})),
    ]));
    this.notes = make('div', {});
    this.host.append(this.notes, asTable('Memory as a table', [{name: 'time'}, {name: 'memory', right: true}, {name: 'floor', right: true}, {name: 'trend', right: true}],
      () => spread(this.rows, 60).map(row => [moment(row[0]), bytes(row[1], 4), bytes(row[2], 4), bytes(row[3], 4)])));
  }

  spoken() {
    const [low, high] = this.measured, last = this.rows[this.rows.length - 1];
    return `Memory over ${duration(last[0] - this.rows[0][0])}: between ${bytes(low)} and ${bytes(high)}, ${bytes(last[1])} at the end.` +
      (this.run.line ? ` The line is at ${bytes(this.run.line)}.` : '');
  }

  range(from, to) {
    const seen = this.rows.filter(row => row[0] >= from && row[0] <= to);
    const shown = this.chart ? this.chart.graph.visibility() : [];
    let [low, high] = extremes(seen.flatMap(row => [row[1], row[2], ...(shown[3] ? [row[4]] : []), ...(shown[4] ? [row[5]] : [])]));
    if (this.lineShown && this.run.line) high = Math.max(high, this.run.line), low = Math.min(low, this.run.line);
    return byteRange(low, high, this.fromZero);
  }

  describe(row, at) {
    const phase = rowsOf(this.run.phases, 'begin', 'end', 'name').find(([begin, end]) => row[0] >= begin && row[0] < end);
    const low = between(this.trend, row[0], 1), high = between(this.trend, row[0], 3);
    return [
      ['at', moment(row[0])], ['memory', exactBytes(row[1]), 'var(--memory)'],
      row[5] === null ? null : ['file pages', bytes(row[5] - row[1], 4), 'var(--faint)'],
      row[2] === null ? null : ['floor', bytes(row[2], 4), 'var(--floor)'],
      row[3] === null ? null : ['trend', `${bytes(row[3], 4)} (${bytes(low, 4)} to ${bytes(high, 4)})`, 'var(--trend)'],
      this.steps[at] === null || this.steps[at] === undefined ? null : ['step', count(this.steps[at])], phase && phase[2] ? ['phase', phase[2]] : null,
    ];
  }

  // Below the curve: phases, the band; above it: the line, spikes, events.
  underlay(canvas, area, graph) {
    const [from, to] = graph.xAxisRange(), [bottom, top] = graph.yAxisRange(0);
    const x = time => graph.toDomXCoord(time), y = value => graph.toDomYCoord(value);
    canvas.save();
    canvas.beginPath();
    canvas.rect(area.x, area.y, area.w, area.h);
    canvas.clip();
    for (const [begin, end, name] of rowsOf(this.run.phases, 'begin', 'end', 'name')) {
      if (isTraining(name) || end < from || begin > to) continue;
      canvas.fillStyle = faded(phaseKey(name), .28);
      canvas.fillRect(x(begin), area.y, Math.max(1, x(end) - x(begin)), area.h);
    }
    if (this.trend.length && graph.visibility()[2]) {
      canvas.beginPath();
      this.trend.forEach(([time, low], i) => i ? canvas.lineTo(x(time), y(low)) : canvas.moveTo(x(time), y(low)));
      for (const [time, , , high] of [...this.trend].reverse()) canvas.lineTo(x(time), y(high));
      canvas.fillStyle = faded('trend', .16);
      canvas.fill();
    }
    if (graph.visibility()[4]) {
      const rows = this.rows.filter(row => row[5] !== null);
      canvas.beginPath();
      rows.forEach(([time, value], i) => i ? canvas.lineTo(x(time), y(value)) : canvas.moveTo(x(time), y(value)));
      for (const row of [...rows].reverse()) canvas.lineTo(x(row[0]), y(row[5]));
      canvas.fillStyle = faded('faint', .3);
      canvas.fill();
    }
    canvas.font = '600 12px ' + getComputedStyle(document.body).fontFamily;
    if (this.run.line && this.run.line >= bottom && this.run.line <= top) this.drawLine(canvas, area, y(this.run.line));
    this.drawSpikes(canvas, area, x, y, from, to);
    this.drawEvents(canvas, area, x, from, to);
    drawResumes(canvas, area, graph, this.run.run.sessions, 'time');
    canvas.restore();
  }

  // The line as a ship carries it: a bar through a circle.
  drawLine(canvas, area, at) {
    canvas.strokeStyle = canvas.fillStyle = colour('line');
    canvas.lineWidth = 1.5;
    canvas.beginPath();
    canvas.moveTo(area.x, at);
    canvas.lineTo(area.x + area.w, at);
    canvas.moveTo(area.x + 24, at);
    canvas.arc(area.x + 18, at, 6, 0, 2 * Math.PI);
    canvas.stroke();
    canvas.textAlign = 'left';
    canvas.fillText(`the line: ${bytes(this.run.line)}`, area.x + 32, at < area.y + 20 ? at + 15 : at - 6);
  }

  drawSpikes(canvas, area, x, y, from, to) {
    const spikes = rowsOf(this.run.spikes, 'time', 'bytes', 'height', 'phase').filter(spike => spike[0] >= from && spike[0] <= to);
    const taken = [];
    canvas.textAlign = 'center';
    for (const [time, value, height, phase] of spikes.sort((a, b) => b[2] - a[2])) {
      const at = x(time), up = Math.max(area.y + 8, y(value) - 5);
      canvas.fillStyle = colour('muted');
      canvas.beginPath();
      canvas.moveTo(at, up);
      canvas.lineTo(at - 4, up - 6);
      canvas.lineTo(at + 4, up - 6);
      canvas.fill();
      const text = '+' + bytes(height) + (phase && !isTraining(phase) ? ' ' + phase : ''), half = canvas.measureText(text).width / 2 + 6;
      const middle = Math.max(area.x + half, Math.min(area.x + area.w - half, at));
      if (up - 12 < area.y + 8 || taken.some(([a, b]) => middle - half < b && middle + half > a)) continue;
      taken.push([middle - half, middle + half]);
      canvas.fillText(text, middle, up - 10);
    }
  }

  drawEvents(canvas, area, x, from, to) {
    canvas.textAlign = 'center';
    let last = -Infinity;
    rowsOf(this.run.events, 'time').forEach(([time], i) => {
      // One that came after the last sample stands at the edge.
      if (time < from || (windowOf && time > to)) return;
      const at = Math.round(Math.min(x(time), area.x + area.w - 10)) + .5;
      canvas.strokeStyle = canvas.fillStyle = colour('event');
      canvas.lineWidth = 1;
      canvas.setLineDash([3, 3]);
      canvas.beginPath();
      canvas.moveTo(at, area.y);
      canvas.lineTo(at, area.y + area.h);
      canvas.stroke();
      canvas.setLineDash([]);
      if (at - last < 18) return;
      last = at;
      canvas.beginPath();
      canvas.arc(at, area.y + area.h - 10, 8, 0, 2 * Math.PI);
      canvas.fill();
      canvas.fillStyle = colour('surface');
      canvas.fillText(String(i + 1), at, area.y + area.h - 6);
    });
  }

  // What is drawn as marks, in words.
  marks() {
    const events = rowsOf(this.run.events, 'time', 'kind', 'text'), out = this.run.events ? this.run.events.left_out : 0;
    const told = `${events.length} ${out} ${this.run.line} ${this.lineShown}`;
    if (told === this.told) return;  // what is being read stays where it is
    this.told = told;
    const parts = [];
    if (this.run.line && !this.lineShown)
      parts.push(make('p', {class: 'note'}, `The line at ${bytes(this.run.line)} is far above the range shown.`));
    if (events.length) {
      parts.push(make('h3', {}, 'Events'));
      const shown = events.length > 40 ? [...events.slice(0, 10), ...events.slice(-30)] : events;
      parts.push(make('div', {class: 'scroll', tabindex: 0}, plainTable([{name: '', right: true}, {name: 'at'}, {name: 'kind'}, {name: 'what'}],
        shown.map(event => [events.indexOf(event) + 1, moment(event[0]), event[1], event[2]]), {class: 'events'})));
      if (shown.length < events.length || out) parts.push(make('p', {class: 'note'}, `${count(events.length + out)} in all; the first and the last ones are listed.`));
    }
    this.notes.replaceChildren(...parts);
  }
}

// Memory by process, stacked: the main program at the bottom, then wrappers, workers and the rest, distinguished by colour.

const roleOrder = ['main', 'wrapper', 'worker pool', 'other', 'short-lived', ''];
const roleHues = {main: ['role-main'], wrapper: ['role-wrapper'], 'worker pool': ['role-worker-1', 'role-worker-2', 'role-worker-3'],
  other: ['role-other-1', 'role-other-2'], 'short-lived': ['role-brief'], '': ['role-other-1', 'role-other-2']};

// The processes that carry the growth: one, or of a pool as many as the verdict says, those that grew most.
function growers(list, culprit) {
  if (!culprit) return new Set();
  const one = list.filter(process => process.pid === culprit.pid);
  if (culprit.members < 2 || !one.length) return new Set(one);
  const grown = process => process.bytes - process.first_bytes;
  const pool = list.filter(process => process.role === one[0].role && process.name === one[0].name);
  return new Set(pool.sort((a, b) => grown(b) - grown(a)).slice(0, culprit.members));
}

class ProcessSection {
  constructor(main) {
    this.host = section('processes', 'Memory by process');
    this.host.hidden = true;
    main.append(this.host);
  }

  // Columns from the top of the stack to its bottom, as dygraphs stacks them.
  take(run) {
    this.run = run;
    const {list, others, samples} = run.processes, used = {};
    const rank = role => roleOrder.includes(role) ? roleOrder.indexOf(role) : 3;
    const growing = growers(list, run.verdict && run.verdict.culprit);
    this.columns = [...list].sort((a, b) => rank(b.role) - rank(a.role) || a.peak_bytes - b.peak_bytes).map(process => {
      const hues = roleHues[process.role] || roleHues.other, turn = used[process.role] = (used[process.role] || 0) + 1;
      return {id: String(process.id), process, name: process.name, hue: growing.has(process) ? 'trend' : hues[turn % hues.length], grows: growing.has(process)};
    });
    if (others) this.columns.unshift({id: 'others', process: null, name: `${others} others`, hue: 'role-brief'});
    const at = this.columns.map(column => samples.columns.indexOf(column.id));
    this.rows = samples.rows.map(row => [row[0], ...at.map(index => index < 0 ? 0 : row[index] || 0)]);
    // Names of series must differ, whatever the processes are called.
    this.names = this.columns.map((column, i) => `${i}`);
  }

  update(run) {
    if (!run.processes || !run.processes.samples.rows.length) return;
    this.take(run);
    this.host.hidden = false;
    const shape = this.columns.map(column => column.id).join();
    if (this.chart && this.shape === shape) this.chart.refresh(this.rows);
    else this.build();
    this.shape = shape;
    this.listing();
  }

  build() {
    if (this.chart) {
      charts.splice(charts.indexOf(this.chart), 1);
      this.chart.graph.destroy();
      this.host.replaceChildren(this.host.firstChild);
    }
    this.chart = new Chart(this.host, {
      id: 'process-chart', label: this.spoken(), bytes: true, tall: true, names: this.names, hint: 'Stacked; point at a moment to see each process.',
      rows: () => this.rows,
      colours: () => this.columns.map(column => colour(column.hue)),
      options: () => ({stackedGraph: true, fillAlpha: .75, strokeWidth: .7, highlightCircleSize: 0, includeZero: true, stepPlot: false}),
      range: (from, to) => {
        const [, high] = extremes(this.rows.filter(row => row[0] >= from && row[0] <= to).map(row => row.slice(1).reduce((a, b) => a + b, 0)));
        return [0, (high || 1) * 1.08];
      },
      describe: row => {
        const parts = this.columns.map((column, i) => ({column, value: row[i + 1]})).filter(part => part.value > 0).sort((a, b) => b.value - a.value);
        const total = parts.reduce((sum, part) => sum + part.value, 0);
        return [['at', moment(row[0])], ['together', exactBytes(total)],
          ...parts.slice(0, 5).map(({column, value}) => [column.process ? `${column.name} ${column.process.pid}` : column.name, bytes(value, 4), `var(--${column.hue})`]),
          parts.length > 5 ? ['and', `${parts.length - 5} more`] : null];
      },
    });
    const roles = [...new Set(this.columns.filter(column => column.process && !column.grows).map(column => column.process.role || 'other'))];
    this.host.append(legend(this.chart, [...(this.columns.some(column => column.grows) ? [{name: 'grows', key: 'var(--trend)'}] : []),
      ...roles.map(role => ({name: role, key: `var(--${(roleHues[role] || roleHues.other)[0]})`}))]));
    this.table = make('div', {class: 'scroll', tabindex: 0});
    this.host.append(this.table);
  }

  spoken() {
    const largest = [...this.columns].filter(column => column.process).sort((a, b) => b.process.peak_bytes - a.process.peak_bytes)[0];
    return `Memory of ${count(this.run.processes.seen)} processes, stacked.` + (largest ? ` The largest is ${largest.name} with a peak of ${bytes(largest.process.peak_bytes)}.` : '');
  }

  listing() {
    const largest = this.columns.filter(column => column.process).sort((a, b) => b.process.peak_bytes - a.process.peak_bytes);
    const change = process => {
      const by = process.bytes - process.first_bytes;
      return Math.abs(by) < Math.max(1e5, .01 * process.first_bytes) ? 'steady' : (by > 0 ? '+' : '') + bytes(by);
    };
    this.table.replaceChildren(plainTable(
      [{name: 'process'}, {name: 'role'}, {name: 'pid', right: true}, {name: 'last', right: true}, {name: 'peak', right: true}, {name: 'change', right: true}, {name: 'command'}],
      largest.map(({process, hue, name, grows}) => [make('span', {}, swatch(`var(--${hue})`), name), (process.role || '–') + (grows ? ', grows' : ''), process.pid, bytes(process.bytes), bytes(process.peak_bytes),
        change(process), make('code', {title: process.arguments}, process.arguments)]), {class: 'list'}));
  }
}

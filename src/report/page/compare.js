// Compares two runs in the same charts.

function comparePage(main, both) {
  const [a, b] = both.runs, hues = ['memory', 'trend'];
  document.title = `${a.run.name} and ${b.run.name}`;
  document.getElementById('title').textContent = document.title;
  document.getElementById('facts').textContent = `A: ${a.run.name} · B: ${b.run.name}`;
  main.append(make('section', {id: 'verdict'}, make('p', {class: 'sentence lead', id: 'sentence'}, both.difference.sentence),
    make('div', {class: 'pair'}, verdictCard(a, 'A'), verdictCard(b, 'B'))));
  // Rows of both in order of time, a column each.
  const overlay = (table, column) => {
    const rows = [];
    both.runs.forEach((run, i) => rowsOf(run[table], 'time', column).forEach(([time, value]) => rows.push(i ? [time, null, value] : [time, value, null])));
    return rows.sort((x, y) => x[0] - y[0]);
  };
  const add = (id, title, table, column, spec) => {
    const rows = overlay(table, column);
    if (!rows.some(row => row[1] !== null || row[2] !== null)) return;
    const host = section(id, title);
    main.append(host);
    const chart = new Chart(host, {id: id + '-chart', label: `${title} of both runs`, names: ['A', 'B'], tall: true, hint: 'Drag to zoom, double-click to reset.',
      colours: () => hues.map(colour), rows: () => rows, options: () => ({connectSeparatedPoints: true, strokeWidth: 1.4, ...(spec.look || {})}),
      describe: row => [['at', moment(row[0])], row[1] === null ? null : ['A', spec.format(row[1]), 'var(--memory)'], row[2] === null ? null : ['B', spec.format(row[2]), 'var(--trend)']], ...spec});
    host.append(legend(chart, [{index: 0, name: 'A: ' + a.run.name, key: 'var(--memory)'}, {index: 1, name: 'B: ' + b.run.name, key: 'var(--trend)'}]));
  };
  const [, high] = extremes(both.runs.flatMap(run => rowsOf(run.memory, 'bytes').map(row => row[0])));
  add('memory', 'Memory over time', 'memory', 'bytes', {bytes: true, format: exactBytes, range: () => [0, (high || 1) * 1.08]});
  add('floor', 'Floor', 'floor', 'bytes', {bytes: true, format: exactBytes});
  add('loss', 'Loss', 'steps', 'loss', {format: value => number(value, 7)});
  add('tokens', 'Tokens per second', 'steps', 'tokens_per_second', {format: value => number(value, 6), look: {includeZero: true}});
  add('step', 'Time per step', 'steps', 'seconds_per_step', {format: duration, axes: {y: {axisLabelWidth: 64, axisLabelFormatter: value => duration(value)}}, look: {includeZero: true}});
  const keys = [...new Set(both.runs.flatMap(run => Object.keys(run.configuration)))].sort();
  const differ = keys.filter(key => a.configuration[key] !== b.configuration[key]);
  const host = section('details', 'Settings that differ');
  const shown = value => value === undefined ? '–' : value;
  host.append(differ.length ? make('div', {class: 'scroll', tabindex: 0}, plainTable([{name: 'setting'}, {name: 'A'}, {name: 'B'}], differ.map(key => [key, shown(a.configuration[key]), shown(b.configuration[key])])))
    : make('p', {class: 'note'}, 'None.'));
  main.append(host);
}

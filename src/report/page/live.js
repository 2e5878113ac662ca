// A page that follows a run: increments are merged into the data, whose size stays bounded.

const mostRows = {memory: 4000, steps: 3000, evaluations: 1000, events: 500, phases: 1500, samples: 900};

// The older half loses every second pair's inner rows: of each four neighbours the least and the greatest stay.
function bounded(table, most, column) {
  if (table.rows.length <= most) return;
  const half = table.rows.length >> 1, kept = [];
  for (let i = 0; i < half; i += 4) {
    const group = table.rows.slice(i, Math.min(i + 4, half));
    if (column < 0) {
      kept.push(...group.filter((_, at) => at % 2 === 0));
      continue;
    }
    let least = group[0], most = group[0];
    for (const row of group) {
      if (row[column] < least[column]) least = row;
      if (row[column] > most[column]) most = row;
    }
    kept.push(...group.filter(row => row === least || row === most));
  }
  table.rows = kept.concat(table.rows.slice(half));
}

function append(run, name, more, measure) {
  const table = run[name];
  if (more.samples) table.samples = (table.samples || 0) + more.samples;
  // A column that the increment has and the table lacks (or the other way round) is null.
  for (const column of more.columns)
    if (!table.columns.includes(column)) {
      table.columns.push(column);
      for (const row of table.rows) row.push(null);
    }
  const at = table.columns.map(column => more.columns.indexOf(column));
  // A stream begins with messages from before it was opened: rows that are there already are not added again.
  const key = Math.max(0, columnOf(table, name === 'phases' ? 'begin' : 'time')), end = table.rows.length ? table.rows[table.rows.length - 1][key] : -1;
  for (const row of more.rows) {
    const added = at.map(index => index < 0 ? null : row[index]);
    if (added[key] > end) table.rows.push(added);
  }
  bounded(table, mostRows[name], columnOf(table, measure));
}

function appendProcesses(run, more) {
  const all = run.processes;
  for (const process of more.list || []) {
    const known = all.list.find(one => one.id === process.id);
    if (known) Object.assign(known, process, {first_bytes: known.first_bytes, peak_bytes: Math.max(known.peak_bytes, process.peak_bytes), low_bytes: Math.min(known.low_bytes, process.low_bytes)});
    else all.list.push(process);
  }
  all.seen = Math.max(all.seen, more.seen || 0, all.list.length);
  if (more.others !== undefined) all.others = Math.max(all.others, more.others);
  if (more.samples) {
    const holder = {samples: all.samples};
    append(holder, 'samples', more.samples, 'none');
    // Of many that came and went, those seen last stay.
    if (all.list.length > 48) {
      const gone = all.list.filter(process => process.ended !== null).slice(0, all.list.length - 32).map(process => String(process.id));
      const keep = all.samples.columns.map((column, i) => gone.includes(column) ? -1 : i).filter(i => i >= 0);
      all.samples.columns = keep.map(i => all.samples.columns[i]);
      all.samples.rows = all.samples.rows.map(row => keep.map(i => row[i]));
      all.list = all.list.filter(process => !gone.includes(String(process.id)));
    }
  }
}

function merge(run, more) {
  if (more.memory) append(run, 'memory', more.memory, 'bytes');
  if (more.memory && more.memory.measure === 'pss') run.memory.measure = 'pss';
  if (more.steps) append(run, 'steps', more.steps, 'loss');
  if (more.ranks) run.ranks = more.ranks;
  if (more.evaluations) append(run, 'evaluations', more.evaluations, 'none');
  if (more.events) append(run, 'events', more.events, 'none');
  const phases = run.phases.rows, end = columnOf(run.phases, 'end'), begin = columnOf(run.phases, 'begin');
  if (more.phases) {
    if (phases.length && more.phases.rows.length) phases[phases.length - 1][end] = more.phases.rows[0][more.phases.columns.indexOf('begin')];
    append(run, 'phases', more.phases, 'none');
  }
  const memory = run.memory.rows, last = run.phases.rows[run.phases.rows.length - 1];
  if (last && memory.length) last[end] = Math.max(last[begin], memory[memory.length - 1][columnOf(run.memory, 'time')]);
  if (more.processes) appendProcesses(run, more.processes);
  for (const name of ['verdict', 'line', 'floor', 'trend', 'spikes', 'plan', 'pictures', 'sites', 'configuration'])
    if (name in more) run[name] = more[name];
}

function follow(run, redraw, say) {
  const events = new EventSource('events' + location.search);
  let waiting = false, drawn = 0;
  const later = () => {
    if (waiting) return;
    waiting = true;
    // Twice a second is plenty; a hidden page draws when it is seen again.
    setTimeout(() => requestAnimationFrame(() => {
      waiting = false;
      drawn = performance.now();
      redraw();
    }), Math.max(0, 500 - (performance.now() - drawn)));
  };
  events.onopen = () => say('live', 'following');
  events.onmessage = message => {
    const more = JSON.parse(message.data);
    merge(run, more);
    if (more.end) {
      events.close();
      say('ended', 'the run has ended');
    }
    later();
  };
  events.onerror = () => say('lost', events.readyState === EventSource.CLOSED ? 'not connected' : 'connecting again');
}

// Loss and learning rate, tokens per second, time per step.

class TrainingSection {
  constructor(main) {
    this.host = section('training', 'Training');
    this.host.hidden = true;
    main.append(this.host);
  }

  take(run) {
    const steps = rowsOf(run.steps, 'time', 'step', 'loss', 'learning_rate', 'tokens_per_second', 'seconds_per_step', 'gradient_norm');
    const evaluations = rowsOf(run.evaluations, 'time', 'step', 'loss', 'floor');
    this.steps = steps;
    this.evaluations = evaluations;
    const atOf = time => {  // the step reached by then
      let low = 0, high = steps.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (steps[middle][0] <= time) low = middle + 1; else high = middle;
      }
      return low;
    };
    // Evaluations stand between steps: rows of their own, in order of time.
    const rows = steps.map(([time, , loss, rate]) => [time, loss, null, rate]);
    this.stepAt = time => (steps[Math.max(0, atOf(time) - 1)] || [0, null])[1];
    this.lossRows = [...rows, ...evaluations.map(([time, , loss]) => [time, null, loss, null])].sort((a, b) => a[0] - b[0]);
    this.entropy = evaluations.length ? evaluations[evaluations.length - 1][3] : null;
    // A watched program tells only steps: its time of a step follows from them.
    let before = null;
    this.speedRows = steps.map(([time, step, , , tokens, seconds]) => {
      if (seconds !== null) return [time, tokens, seconds];
      if (!before) before = [time, step];
      if (step <= before[1] || time - before[0] < .2) return [time, tokens, null];  // told in bursts
      const own = (time - before[0]) / (step - before[1]);
      before = [time, step];
      return [time, tokens, own];
    });
  }

  update(run) {
    if (!run.steps || !run.steps.rows.length) return;
    this.take(run);
    this.host.hidden = false;
    this.host.firstChild.textContent = run.run.kind === 'train' ? 'Training' : 'Steps';
    if (!this.built) this.build();
    else for (const {chart, rows} of this.parts) chart.refresh(rows());
  }

  build() {
    this.built = true;
    this.parts = [];
    const add = (host, spec) => {
      const chart = new Chart(host, spec);
      this.parts.push({chart, rows: spec.rows});
      return chart;
    };
    if (this.steps.some(row => row[2] !== null)) {
      const host = make('div', {class: 'part'}, make('h3', {}, 'Loss and learning rate'));
      this.host.append(host);
      const chart = add(host, {
        id: 'loss-chart', label: this.spokenLoss(), names: ['loss', 'validation', 'learning rate'], tall: true, 
        colours: () => [colour('memory'), colour('trend'), colour('faint')],
        rows: () => this.lossRows,
        axes: {y2: {axisLabelWidth: 64, independentTicks: true, axisLabelFormatter: value => value === 0 ? '0' : Number(value.toPrecision(2)).toExponential(), drawGrid: false}},
        options: () => ({
          series: {
            loss: {strokeWidth: 1.2}, validation: {strokeWidth: 1.5, drawPoints: true, pointSize: 2.5}, 'learning rate': {axis: 'y2', strokeWidth: 1.2, strokePattern: [4, 3]},
          },
          connectSeparatedPoints: true,
          underlayCallback: (canvas, area, graph) => this.entropyLine(canvas, area, graph),
        }),
        describe: row => [['at', moment(row[0])], ['step', count(this.stepAt(row[0]))], row[1] === null ? null : ['loss', number(row[1], 7), 'var(--memory)'],
          row[2] === null ? null : ['validation', number(row[2], 7), 'var(--trend)'], row[3] === null ? null : ['learning rate', number(row[3], 4), 'var(--faint)']],
      });
      host.append(legend(chart, [{index: 0, name: 'loss', key: 'var(--memory)'}, {index: 1, name: 'validation', key: 'var(--trend)'},
        {index: 2, name: 'learning rate (right)', key: 'var(--faint)'},
        ...(this.entropy ? [{name: `entropy of the data, ${number(this.entropy)}`, key: 'var(--floor)'}] : [])]));
      host.append(asTable('Losses as a table', [{name: 'time'}, {name: 'step', right: true}, {name: 'loss', right: true}, {name: 'learning rate', right: true}],
        () => spread(this.steps, 60).map(row => [moment(row[0]), count(row[1]), number(row[2], 6), number(row[3])])));
    }
    const pair = make('div', {class: 'pair'});
    this.host.append(pair);
    const small = (id, title, index, hue, format, spoken) => {
      if (!this.speedRows.some(row => row[index] !== null)) return;
      const host = make('div', {class: 'part'}, make('h3', {}, title));
      pair.append(host);
      add(host, {
        id, label: spoken, names: [title],  colours: () => [colour(hue)], rows: () => this.speedRows.map(row => [row[0], row[index]]),
        axes: {y: {axisLabelWidth: 64, axisLabelFormatter: format}}, options: () => ({includeZero: true, connectSeparatedPoints: true, strokeWidth: 1.2}),
        describe: row => [['at', moment(row[0])], ['step', count(this.stepAt(row[0]))], [title.toLowerCase(), index === 1 ? number(row[1], 6) : duration(row[1])]],
      });
    };
    const [least, most] = extremes(this.speedRows.map(row => row[1])), [fastest, slowest] = extremes(this.speedRows.map(row => row[2]));
    small('tokens-chart', 'Tokens per second', 1, 'floor', value => number(value, 3), `Tokens per second, between ${number(least)} and ${number(most)}.`);
    small('step-chart', 'Time per step', 2, 'phase-sample', value => value === 0 ? '0' : duration(value), `Time per step, between ${duration(fastest)} and ${duration(slowest)}.`);
  }

  spokenLoss() {
    const losses = this.steps.filter(row => row[2] !== null), last = losses[losses.length - 1];
    return `Loss over ${count(last[1])} steps, from ${number(losses[0][2])} to ${number(last[2])}.` +
      (this.evaluations.length ? ` Last validation loss ${number(this.evaluations[this.evaluations.length - 1][2])}.` : '');
  }

  entropyLine(canvas, area, graph) {
    if (!this.entropy) return;
    const y = graph.toDomYCoord(this.entropy);
    canvas.save();
    canvas.strokeStyle = colour('floor');
    canvas.setLineDash([2, 3]);
    canvas.beginPath();
    canvas.moveTo(area.x, y);
    canvas.lineTo(area.x + area.w, y);
    canvas.stroke();
    canvas.restore();
  }
}

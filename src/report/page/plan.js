// The memory plan as rectangles over time and offset, beside the measured memory on the same scale.

const planHues = ['plan-1', 'plan-2', 'plan-3', 'plan-4', 'plan-5', 'plan-6', 'plan-7', 'plan-8'];

class PlanSection {
  constructor(main) {
    this.host = section('plan', 'Memory plan');
    this.host.hidden = true;
    main.append(this.host);
  }

  update(run) {
    if (!run.plan || !run.plan.rows.length) return;
    this.run = run;
    this.host.hidden = false;
    this.values = rowsOf(run.plan, 'name', 'role', 'offset', 'bytes', 'first', 'last').map(([name, role, offset, size, first, last]) => ({name, role, offset, size, first, last}));
    // Drawn from the largest down, so that none hides another's edge; keys walk in the same order.
    this.values.sort((a, b) => b.size - a.size);
    // By role what it holds at the fullest moment, as the trainer printed it; old records do not say.
    const recorded = run.plan.roles || {}, totals = Object.keys(recorded).length ? {...recorded} : {};
    for (const value of this.values) if (!(value.role in recorded)) totals[value.role] = (totals[value.role] || 0) + value.size;
    this.totals = totals;
    // What adds up to the plan: a role that is empty at that moment has rectangles, but no share.
    this.held = Object.keys(recorded).length ? recorded : totals;
    this.roles = Object.keys(totals).sort((a, b) => totals[b] - totals[a]);
    this.nodes = Math.max(...this.values.map(value => value.last)) + 1;
    this.resident = rowsOf(run.memory, 'time', 'rss').filter(row => row[1] !== null);
    const [, peak] = extremes(this.resident.map(row => row[1]));
    this.top = Math.max(run.plan.total_bytes, peak || 0) * 1.04;
    if (!this.canvas) this.build();
    this.draw();
  }

  build() {
    const total = this.run.plan.total_bytes;
    this.host.append(make('p', {class: 'note'}, `Every value of a training step has a fixed place: ${bytes(total)} in ${count(this.values.length)} values, known before the first step. ` +
      'On the right, on the same scale, what was measured, in bands: the roles of the plan and, in grey above them, the process beside it.'));
    this.readout = make('div', {class: 'readout', role: 'status'});
    this.reset = make('button', {type: 'button', class: 'small', hidden: true, onclick: () => this.zoom(null)}, 'Show all');
    this.canvas = make('canvas', {class: 'plan', id: 'plan-chart', tabindex: 0, role: 'application', 'aria-roledescription': 'chart',
      'aria-label': `Memory plan of ${bytes(total)} in ${count(this.values.length)} values over ${count(this.nodes)} operations. The largest is ${this.values[0].name} with ${bytes(this.values[0].size)}.`,
      onpointermove: event => this.move(event), onpointerdown: event => this.down(event), onpointerup: event => this.up(event),
      onpointerleave: () => this.point(null), ondblclick: () => this.zoom(null), onkeydown: event => this.key(event)});
    this.host.append(make('div', {class: 'tools'}, this.readout, this.reset), this.canvas,
      make('ul', {class: 'legend'}, ...this.roles.map((role, i) => make('li', {}, swatch(`var(--${planHues[i % planHues.length]})`), `${role} ${bytes(this.totals[role])}`))),
      asTable('What the measured memory is made of', [{name: 'part'}, {name: 'size', right: true}], () => this.parts()),
      asTable('Largest values as a table', [{name: 'value'}, {name: 'role'}, {name: 'size', right: true}, {name: 'offset', right: true}, {name: 'lives', right: true}],
        () => this.values.slice(0, 60).map(value => [value.name, value.role, bytes(value.size), bytes(value.offset), `${value.first} to ${value.last}`])));
    this.view = null;
    this.point(null);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // The roles, what lies between values, and the process beside the plan add up to what was measured last.
  parts() {
    const roles = this.roles.filter(role => this.held[role]), named = roles.reduce((sum, role) => sum + this.held[role], 0), total = this.run.plan.total_bytes;
    const measured = this.resident.length ? this.resident[this.resident.length - 1][1] : null;
    const rows = roles.map(role => [role, exactBytes(this.held[role])]);
    if (total > named) rows.push(['gaps of the plan', exactBytes(total - named)]);
    if (measured !== null && measured >= total) rows.push(['the process beside the plan', exactBytes(measured - total)], ['measured', exactBytes(measured)]);
    return rows;
  }

  geometry() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    const beside = this.resident.length > 1 ? Math.max(120, width * .26) : 0;
    const area = {x: 64, y: 10, w: width - 64 - beside - (beside ? 24 : 8), h: height - 44};
    const view = this.view || {x0: 0, x1: this.nodes, y0: 0, y1: this.top};
    return {width, height, beside, area, view,
      x: node => area.x + (node - view.x0) / (view.x1 - view.x0) * area.w, y: value => area.y + area.h - (value - view.y0) / (view.y1 - view.y0) * area.h,
      node: x => view.x0 + (x - area.x) / area.w * (view.x1 - view.x0), value: y => view.y0 + (area.y + area.h - y) / area.h * (view.y1 - view.y0)};
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, g = this.geometry(), {area, view} = g;
    if (!g.width || area.w < 10) return;
    this.canvas.width = Math.round(g.width * ratio);
    this.canvas.height = Math.round(g.height * ratio);
    const canvas = this.canvas.getContext('2d');
    canvas.scale(ratio, ratio);
    canvas.font = '12px ' + getComputedStyle(document.body).fontFamily;
    canvas.fillStyle = colour('muted');
    canvas.strokeStyle = colour('grid');
    canvas.textAlign = 'right';
    canvas.textBaseline = 'middle';
    for (const tick of byteTicks(view.y0, view.y1, area.h)) {
      canvas.beginPath();
      canvas.moveTo(area.x, g.y(tick.v));
      canvas.lineTo(g.width - 8, g.y(tick.v));
      canvas.stroke();
      canvas.fillText(tick.label, area.x - 8, g.y(tick.v));
    }
    canvas.textAlign = 'center';
    canvas.fillText(`operation ${count(view.x0)} to ${count(view.x1 - 1)} of the step`, area.x + area.w / 2, area.y + area.h + 18);
    canvas.save();
    canvas.beginPath();
    canvas.rect(area.x, area.y, area.w, area.h);
    canvas.clip();
    const hues = this.roles.map((role, i) => colour(planHues[i % planHues.length]));
    for (const value of this.values) {
      const x = g.x(value.first), y = g.y(value.offset + value.size), w = g.x(value.last + 1) - x, h = g.y(value.offset) - y;
      canvas.fillStyle = hues[this.roles.indexOf(value.role)];
      canvas.fillRect(x, y, Math.max(w, .5), Math.max(h, .5));
      if (w > 4 && h > 4) {
        canvas.strokeStyle = colour('surface');
        canvas.lineWidth = .5;
        canvas.strokeRect(x, y, w, h);
      }
    }
    if (this.over) {
      const value = this.over, x = g.x(value.first), y = g.y(value.offset + value.size);
      canvas.strokeStyle = colour('ink');
      canvas.lineWidth = 2;
      canvas.strokeRect(x, y, Math.max(g.x(value.last + 1) - x, 2), Math.max(g.y(value.offset) - y, 2));
    }
    if (this.drag) {
      canvas.fillStyle = faded('memory', .2);
      canvas.fillRect(this.drag.x, this.drag.y, this.drag.toX - this.drag.x, this.drag.toY - this.drag.y);
    }
    canvas.restore();
    if (g.beside) this.drawMeasured(canvas, g);
  }

  drawMeasured(canvas, g) {
    const {area} = g, left = area.x + area.w + 24, width = g.beside - 8, rows = this.resident;
    const from = rows[0][0], to = rows[rows.length - 1][0] || 1;
    canvas.save();
    canvas.beginPath();
    canvas.rect(left, area.y, width, area.h);
    canvas.clip();
    const x = time => left + (time - from) / Math.max(to - from, 1e-9) * width;
    this.drawBands(canvas, g, rows.map(([time, value]) => [x(time), g.y(value)]), left, width);
    const plan = g.y(this.run.plan.total_bytes);
    canvas.strokeStyle = colour('muted');
    canvas.setLineDash([4, 3]);
    canvas.beginPath();
    canvas.moveTo(left, plan);
    canvas.lineTo(left + width, plan);
    canvas.stroke();
    canvas.setLineDash([]);
    canvas.strokeStyle = colour('memory');
    canvas.lineWidth = 1.5;
    canvas.beginPath();
    rows.forEach(([time, value], i) => i ? canvas.lineTo(x(time), g.y(value)) : canvas.moveTo(x(time), g.y(value)));
    canvas.stroke();
    canvas.restore();
    canvas.fillStyle = colour('muted');
    canvas.textAlign = 'center';
    canvas.fillText('measured RSS over the run', left + width / 2, area.y + area.h + 18);
    canvas.textAlign = 'right';
    const last = rows[rows.length - 1][1], label = Math.min(area.y + area.h - 8, plan + 10);
    canvas.fillText(`plan ${bytes(this.run.plan.total_bytes)}`, left + width, label);
    canvas.fillStyle = colour('memory');
    canvas.fillText(`RSS ${bytes(last)}`, left + width, Math.max(area.y + 8, Math.min(g.y(last) - 10, label - 16)));
  }

  // Below the measured curve: the roles of the plan, one upon the other, and above the plan the process beside it.
  drawBands(canvas, g, curve, left, width) {
    canvas.save();
    canvas.beginPath();
    canvas.moveTo(left, g.y(0));
    for (const [x, y] of curve) canvas.lineTo(x, y);
    canvas.lineTo(left + width, g.y(0));
    canvas.clip();
    canvas.globalAlpha = .55;
    let below = 0;
    const band = (size, hue) => {
      canvas.fillStyle = hue;
      canvas.fillRect(left, g.y(below + size), width, g.y(below) - g.y(below + size));
      below += size;
    };
    this.roles.forEach((role, i) => band(this.held[role] || 0, colour(planHues[i % planHues.length])));
    band(Math.max(0, this.run.plan.total_bytes - below), colour('grid'));
    band(Math.max(0, this.top - below), colour('muted'));
    canvas.restore();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  move(event) {
    const [x, y] = this.at(event), g = this.geometry();
    if (this.drag) {
      Object.assign(this.drag, {toX: x, toY: y});
      this.draw();
      return;
    }
    const inside = x >= g.area.x && x <= g.area.x + g.area.w && y >= g.area.y && y <= g.area.y + g.area.h;
    const node = g.node(x), value = g.value(y);
    // The smallest that covers the place.
    let found = null;
    if (inside)
      for (const one of this.values)
        if (node >= one.first && node < one.last + 1 && value >= one.offset && value < one.offset + one.size) found = one;
    this.point(found);
  }

  point(value) {
    if (this.over === value && this.readout.childNodes.length) return;
    this.over = value;
    this.readout.replaceChildren(...(value ? [
      make('span', {class: 'value'}, swatch(`var(--${planHues[this.roles.indexOf(value.role) % planHues.length]})`), make('b', {}, value.name)),
      make('span', {class: 'value'}, value.role), make('span', {class: 'value'}, make('b', {}, exactBytes(value.size))),
      make('span', {class: 'value'}, make('span', {class: 'name'}, 'at'), ' ', bytes(value.offset, 4)),
      make('span', {class: 'value'}, make('span', {class: 'name'}, 'lives from'), ` ${value.first} to ${value.last}`)]
      : [make('span', {class: 'hint'}, 'Point at a rectangle for its name and size; drag to zoom, arrow keys step through values by size.')]));
    if (this.values) this.draw();
  }

  down(event) {
    const [x, y] = this.at(event);
    this.drag = {x, y, toX: x, toY: y};
    this.canvas.setPointerCapture(event.pointerId);
  }

  up() {
    const drag = this.drag, g = this.geometry();
    this.drag = null;
    if (drag && Math.abs(drag.toX - drag.x) > 6 && Math.abs(drag.toY - drag.y) > 6) {
      const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
      this.zoom({x0: clamp(g.node(Math.min(drag.x, drag.toX)), 0, this.nodes), x1: clamp(g.node(Math.max(drag.x, drag.toX)), 0, this.nodes),
        y0: clamp(g.value(Math.max(drag.y, drag.toY)), 0, this.top), y1: clamp(g.value(Math.min(drag.y, drag.toY)), 0, this.top)});
    }
    this.draw();
  }

  zoom(view) {
    this.view = view;
    this.reset.hidden = !view;
    this.draw();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = by => this.point(this.values[Math.max(0, Math.min(this.values.length - 1, this.values.indexOf(this.over) + by))]);
    const scale = factor => {
      const view = this.geometry().view, x = this.over ? (this.over.first + this.over.last + 1) / 2 : (view.x0 + view.x1) / 2,
        y = this.over ? this.over.offset + this.over.size / 2 : (view.y0 + view.y1) / 2;
      const halfX = (view.x1 - view.x0) / 2 * factor, halfY = (view.y1 - view.y0) / 2 * factor;
      this.zoom(halfX * 2 >= this.nodes ? null : {x0: x - halfX, x1: x + halfX, y0: y - halfY, y1: y + halfY});
    };
    const actions = {ArrowRight: () => step(1), ArrowDown: () => step(1), ArrowLeft: () => step(-1), ArrowUp: () => step(-1), Home: () => step(-1e9), End: () => step(1e9),
      '+': () => scale(.5), '=': () => scale(.5), '-': () => scale(2), '0': () => this.zoom(null), Escape: () => this.zoom(null)};
    if (!actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
  }
}

// Call sites that hold memory: a flame graph with the outermost frame at the bottom, and a table.

class SitesSection {
  constructor(main) {
    this.host = section('sites', 'Call sites');
    this.host.hidden = true;
    main.append(this.host);
  }

  update(run) {
    if (!run.sites || !run.sites.rows.length) return;
    this.host.hidden = false;
    const sites = rowsOf(run.sites, 'stack', 'bytes', 'blocks', 'bytes_per_second', 'hint', 'place');
    this.root = this.tree(sites);
    this.focus = this.root;
    this.flame = make('svg', {class: 'flame', id: 'flame-chart', role: 'group', 'aria-label': `Flame graph of ${count(sites.length)} call sites holding ${bytes(this.root.bytes)}`});
    this.readout = make('div', {class: 'readout', role: 'status'});
    this.reset = make('button', {type: 'button', class: 'small', hidden: true, onclick: () => this.zoom(this.root)}, 'Show all');
    this.host.replaceChildren(this.host.firstChild,
      make('p', {class: 'note'}, 'Memory that was allocated and not freed, by call site. The width of a frame is the memory it holds; the warmer its colour, the faster it grows.'),
      make('div', {class: 'tools'}, this.readout, this.reset), this.flame, ...this.hints(sites), this.table(sites, run.sites.left_out));
    this.draw();
    if (!this.observer) this.observer = new ResizeObserver(() => this.draw());
    this.observer.disconnect();
    this.observer.observe(this.flame);
  }

  tree(sites) {
    const root = {name: 'all', bytes: 0, rate: 0, children: new Map(), parent: null, depth: 0};
    for (const [stack, size, , rate] of sites) {
      let node = root;
      root.bytes += size, root.rate += rate || 0;
      for (const frame of stack) {
        if (!node.children.has(frame)) node.children.set(frame, {name: frame, bytes: 0, rate: 0, children: new Map(), parent: node, depth: node.depth + 1});
        node = node.children.get(frame);
        node.bytes += size, node.rate += rate || 0;
      }
    }
    return root;
  }

  draw() {
    const width = this.flame.clientWidth || 900, row = 22, boxes = [];
    let deepest = 0;
    const place = (node, x, w) => {
      if (w < 1) return;
      deepest = Math.max(deepest, node.depth);
      boxes.push({node, x, w});
      let at = x;
      for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
        const share = w * child.bytes / Math.max(1, node.bytes);
        place(child, at, share);
        at += share;
      }
    };
    place(this.focus, 0, width);
    for (let node = this.focus.parent; node; node = node.parent) boxes.push({node, x: 0, w: width, above: true});
    const height = (deepest + 1) * row, most = Math.max(1e-9, this.root.rate);
    this.flame.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.flame.setAttribute('height', height);
    this.flame.replaceChildren(...boxes.map(({node, x, w, above}) => {
      const y = height - (node.depth + 1) * row, warm = Math.max(0, Math.min(1, node.rate / most));
      const text = `${node.name}: ${bytes(node.bytes)}` + (node.rate ? `, ${node.rate > 0 ? '+' : ''}${bytes(node.rate * pace(node.rate)[0])} ${pace(node.rate)[1]}` : '');
      const box = make('rect', {x, y, width: Math.max(.5, w - 1), height: row - 1, rx: 2});
      box.style.fill = `color-mix(in srgb, var(--trend) ${Math.round(20 + 60 * warm)}%, var(--surface))`;
      if (above) box.style.opacity = '.5';
      const letters = Math.floor((w - 8) / 6.6);
      return make('g', {tabindex: 0, role: 'button', 'aria-label': text, onclick: () => this.zoom(node), onpointerenter: () => this.tell(text), onfocus: () => this.tell(text),
        onkeydown: event => {
          if (event.key === 'Enter' || event.key === ' ') this.zoom(node), event.preventDefault();
          if (event.key === 'Escape') this.zoom(this.root);
        }}, box, letters > 3 ? make('text', {x: x + 5, y: y + row - 7}, node.name.length > letters ? node.name.slice(0, letters - 1) + '…' : node.name) : null);
    }));
  }

  tell(text) {
    this.readout.replaceChildren(make('span', {class: 'value'}, text));
  }

  zoom(node) {
    this.focus = node;
    this.reset.hidden = node === this.root;
    this.draw();
  }

  // What to try, the largest of each first.
  hints(sites) {
    return [...new Set(sites.map(site => site[4]).filter(hint => hint))].slice(0, 5).map(hint => make('p', {class: 'note hint'}, `What to try: ${hint}.`));
  }

  table(sites, out) {
    const rows = [...sites].sort((a, b) => (b[3] || 0) - (a[3] || 0) || b[1] - a[1]).slice(0, 50);
    return make('div', {class: 'scroll', tabindex: 0}, plainTable([{name: 'site'}, {name: 'called from'}, {name: 'holds', right: true}, {name: 'blocks', right: true}, {name: 'grows', right: true}],
      rows.map(([stack, size, blocks, rate, , place]) => [make('code', {}, place || '–'), make('code', {title: stack.join('\n')}, stack[stack.lastIndexOf(place) - 1] || '–'), bytes(size),
        count(blocks), rate === null ? '–' : `${bytes(rate * pace(rate)[0])} ${pace(rate)[1]}`]), {class: 'list'}),
      sites.length > rows.length || out ? make('p', {class: 'note'}, `${count(sites.length + out)} sites in all.`) : null);
  }
}

// Shows the configuration, versions and machine.

class DetailsSection {
  constructor(main) {
    this.host = section('details', 'Configuration');
    main.append(this.host);
  }

  update(run) {
    const settings = Object.entries(run.configuration || {}), about = run.run;
    const list = entries => make('dl', {class: 'settings'}, ...entries.map(([key, value]) => make('div', {}, make('dt', {}, key), make('dd', {}, value === '' ? '–' : value))));
    const sessions = about.sessions || [];
    this.host.replaceChildren(this.host.firstChild, settings.length ? list(settings) : make('p', {class: 'note'}, 'The record holds no settings.'), make('h3', {}, 'Machine and versions'),
      list([['kind of run', about.kind], ['started', about.started], ['plimsoll', about.version], ['machine', about.machine],
        ['memory samples', count(run.memory.samples)],
        ...(sessions.length > 1 ? [['sessions', sessions.map(one => `${one.started} at step ${count(one.step)} (${one.version})`).join('; ')]] : [])]));
  }
}

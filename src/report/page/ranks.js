// The ranks of a training run: one sentence and a row for each, the worst first. No curve for each of them.

class RankSection {
  constructor(main) {
    this.host = section('ranks', 'Ranks');
    this.host.hidden = true;
    main.append(this.host);
  }

  update(run) {
    const ranks = run.ranks;
    if (!ranks || !ranks.rows.length) return;
    this.host.hidden = false;
    const at = name => columnOf(ranks, name), size = value => value === null ? '–' : bytes(value);
    const milliseconds = value => value === null ? '–' : `${(value * 1e3).toFixed(value < 0.01 ? 2 : 1)} ms`;
    const worst = ranks.worst, order = [...ranks.rows].sort((a, b) => (b[at('rank')] === worst) - (a[at('rank')] === worst) || b[at('peak_bytes')] - a[at('peak_bytes')]);
    const cells = row => [`${row[at('rank')]}`, row[at('node')] || '–', size(row[at('plan_bytes')]), size(row[at('first_bytes')]), size(row[at('bytes')]), size(row[at('peak_bytes')]),
      milliseconds(row[at('waiting_seconds')]), milliseconds(row[at('exchange_seconds')]), row[at('verdict')] || '–'];
    const table = plainTable(['Rank', 'Node', 'Plan', 'First', 'Last', 'Peak', 'Waits', 'Exchange', 'Verdict'].map((name, i) => ({name, right: i !== 1 && i !== 8})), order.map(cells), {id: 'rank-table'});
    // Many ranks: the table is there for whoever asks.
    const details = make('details', order.length > 16 && !this.open ? {} : {open: ''}, make('summary', {}, `${ranks.seen} ranks, worst first`), table);
    details.addEventListener('toggle', () => { this.open = details.open; });
    this.host.replaceChildren(this.host.firstChild, make('p', {id: 'rank-sentence'}, ranks.sentence), details);
  }
}

// Builds the page from the data inside the file or from the server.

function headline(run) {
  const about = run.run, rows = run.memory.rows, last = rows.length ? rows[rows.length - 1][columnOf(run.memory, 'time')] : 0;
  const words = {train: 'Training run', watch: 'Watched program', guard: 'Guarded program'};
  // A command by the names of its files: where they lie is told below.
  const command = (run.configuration.command || '').split(' ').map(word => word.slice(word.lastIndexOf('/') + 1)).join(' ');
  const name = command || run.configuration['model.name'] || run.configuration.preset || about.name;
  // A long command stands whole among the details; here its beginning is enough.
  const brief = name.length > 90 ? name.slice(0, 88).trimEnd() + '…' : name, title = document.getElementById('title');
  document.title = `${words[about.kind] || 'Run'}: ${brief}`;
  title.textContent = `${words[about.kind] || 'Run'} · ${brief}`;
  title.title = name;
  document.getElementById('facts').textContent = [about.started.replace('T', ' ').replace('Z', ' UTC'), duration(last), about.machine].filter(Boolean).join(' · ');
  document.getElementById('foot').textContent = `plimsoll ${about.version} · ${about.name}`;
}

function runPage(main, run) {
  const card = make('section', {id: 'verdict', 'aria-label': 'Verdict'});
  main.append(card);
  const sections = [new MemorySection(main), new ProcessSection(main), new RankSection(main), new TrainingSection(main), new PicturesSection(main), new PlanSection(main), new SitesSection(main), new DetailsSection(main)];
  let said = '';
  const draw = all => {
    const now = JSON.stringify([run.verdict, run.line]);
    if (now !== said) card.replaceChildren(verdictCard(run)), said = now;
    for (const part of sections) if (all || !(part instanceof PicturesSection || part instanceof PlanSection || part instanceof SitesSection || part instanceof DetailsSection)) part.update(run);
  };
  headline(run);
  draw(true);
  return {draw, sections};
}

// Colours are read when drawing: another theme means drawing again. Paper is always light.
function watchTheme(again) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  const paper = on => () => {
    document.documentElement.classList.toggle('paper', on);
    for (const chart of charts) chart.graph.resize();
    again();
  };
  addEventListener('beforeprint', paper(true));
  addEventListener('afterprint', paper(false));
}

async function start() {
  const main = document.getElementById('main'), live = document.documentElement.hasAttribute('data-live');
  let run;
  if (live) {
    const answer = await fetch('api/run' + location.search, {cache: 'no-store'});
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    run = await answer.json();
  } else {
    run = JSON.parse(document.getElementById('run').textContent);
  }
  let sections = [];
  if (run.format === 'plimsoll-comparison') {
    comparePage(main, run);
  } else {
    const shown = runPage(main, run);
    sections = shown.sections;
    if (live) {
      const badge = make('p', {class: 'badge', role: 'status'});
      document.querySelector('.top').append(badge);
      follow(run, () => shown.draw(false), (kind, text) => {
        badge.className = 'badge ' + kind;
        badge.textContent = text;
      });
    }
  }
  watchTheme(() => {
    for (const chart of charts) chart.refresh();
    for (const part of sections) if (part.canvas) part.draw();
  });
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start().catch(error => {
  document.getElementById('main').replaceChildren(make('p', {class: 'plain', role: 'alert'}, 'This page could not be shown: ' + error.message));
  throw error;
});

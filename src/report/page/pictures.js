// Shows a few validation pictures and what the model said about each at every evaluation.

// Evaluations in a row at which the same was said.
function stretches(said) {
  const out = [];
  for (const {step, text} of said) {
    const last = out[out.length - 1];
    if (last && last.text === text) last.to = step;
    else out.push({from: step, to: step, text});
  }
  return out;
}

class PicturesSection {
  constructor(main) {
    this.main = main;
    this.host = section('pictures', 'Pictures', 'Validation pictures, what their row answers, and what the model said at each evaluation.');
    this.strip = make('div', {class: 'pictures'});
    this.host.append(this.strip);
    this.host.hidden = true;
    main.append(this.host);
  }

  update(run) {
    const pictures = run.pictures || [];
    this.host.hidden = !pictures.length;
    this.strip.replaceChildren(...pictures.map(picture => make('figure', {},
      picture.thumbnail ? make('img', {src: 'data:image/png;base64,' + picture.thumbnail, alt: picture.name}) : null,
      make('figcaption', {}, make('strong', {}, picture.name), make('span', {}, picture.question), make('em', {}, picture.answer)),
      make('ol', {}, ...stretches(picture.said).map(one => make('li', {class: one.text === picture.answer ? 'exact' : 'other'},
        make('span', {class: 'when'}, one.from === one.to ? count(one.from) : `${count(one.from)}–${count(one.to)}`), make('span', {}, one.text || '–')))))));
  }
}

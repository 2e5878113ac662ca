// Formats numbers and times, and creates elements without HTML text.

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

function bytes(value, digits = 3) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  let size = Math.abs(value), unit = 0;
  while (size >= 999.5 && unit < units.length - 1) size /= 1000, ++unit;
  const text = unit === 0 ? String(Math.round(size)) : size.toPrecision(Math.max(digits, Math.floor(size).toString().length));
  return (value < 0 ? '−' : '') + text + ' ' + units[unit];
}

function exactBytes(value) {
  if (value === null || value === undefined) return '–';
  return Math.abs(value) < 1000 ? bytes(value) : `${bytes(value, 4)} (${count(value)} bytes)`;
}

function count(value) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  return Math.round(value).toLocaleString('en-US');
}

function number(value, digits = 4) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)) return value.toExponential(digits - 1);
  return Math.abs(value) >= 1000 ? value.toLocaleString('en-US', {maximumFractionDigits: 0}) : Number(value.toPrecision(digits)).toString();
}

function duration(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return '–';
  if (seconds < 0) return '−' + duration(-seconds);
  if (seconds < 1e-3) return (seconds * 1e6).toPrecision(3) + ' µs';
  if (seconds < 1) return (seconds * 1e3).toPrecision(3) + ' ms';
  if (seconds < 60) return (seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)) + ' s';
  const whole = Math.round(seconds), two = n => String(n).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${two(Math.floor(whole % 3600 / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${two(Math.floor(whole % 86400 / 3600))}h`;
}

// A moment of the run, fine enough to tell neighbours apart.
function moment(seconds) {
  const two = n => String(n).padStart(2, '0'), whole = Math.floor(seconds);
  const rest = seconds - whole > 5e-4 ? (seconds - whole).toFixed(3).slice(1) : '';
  if (whole < 60) return `${whole}${rest} s`;
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole % 3600 / 60))}:${two(whole % 60)}${rest}`;
}

const paces = [[1, 'per second'], [60, 'per minute'], [3600, 'per hour'], [86400, 'per day']];

// The shortest unit of time in which the rate is a megabyte or more.
function pace(rate) {
  return paces.find(([seconds]) => Math.abs(rate) * seconds >= 1e6) || paces[3];
}

// make('p', {class: 'note', title: text}, 'text', child, …); text is always text.
function make(tag, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'rect', 'text', 'path', 'line', 'title'].includes(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

// Rows of a table as functions of the column's name.
function columnOf(table, name) {
  return table ? table.columns.indexOf(name) : -1;
}

function rowsOf(table, ...names) {
  if (!table) return [];
  const at = names.map(name => columnOf(table, name));
  return table.rows.map(row => at.map(index => index < 0 ? null : row[index]));
}

function extremes(values) {
  let least = Infinity, most = -Infinity;
  for (const value of values)
    if (value !== null && isFinite(value)) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
  return least <= most ? [least, most] : [null, null];
}

function plainTable(heads, rows, attributes = {}) {
  const cell = (tag, value, index) => {
    const right = heads[index] && heads[index].right;
    return make(tag, {class: right ? 'right' : null, scope: tag === 'th' ? 'col' : null}, value instanceof Node ? value : String(value));
  };
  return make('table', attributes,
    make('thead', {}, make('tr', {}, ...heads.map((head, i) => cell('th', head.name, i)))),
    make('tbody', {}, ...rows.map(row => make('tr', {}, ...row.map((value, i) => cell('td', value, i))))));
}

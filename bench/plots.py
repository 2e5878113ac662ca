"""Plots as SVG text: bars of the ratios with their targets, and panels of lines on logarithmic axes."""

import math
from html import escape

COLOURS = ("#1f6feb", "#d1622b", "#7a7f87")
STYLE = "font-family:sans-serif;font-size:12px;fill:#24292f"


def text(x, y, content, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{STYLE}" {extra}>{escape(str(content))}</text>'


def line(x1, y1, x2, y2, colour="#d0d7de", extra=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {extra}/>'


def document(width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>"]) + "\n"


def short(value):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def bars(title, rows):
    """rows: (name, ratio, pass mark, aim); one bar each, the marks as ticks across it."""
    width, left, step, top = 720, 90, 34, 50
    height = top + step * len(rows) + 30
    smallest = min(0.9, *(row[1] * 0.9 for row in rows))  # logarithmic, so that 1.2 can be read beside 20
    largest = max(max(row[1:]) for row in rows)

    def x_of(value):
        return left + (width - left - 70) * math.log(value / smallest) / math.log(largest / smallest)

    parts = [text(width / 2, 24, title, extra='font-weight="bold"')]
    for index, (name, ratio, passing, aim) in enumerate(rows):
        y = top + index * step
        colour = COLOURS[0] if ratio >= passing else COLOURS[1]
        parts.append(text(left - 8, y + 16, name, "end"))
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{x_of(ratio) - left:.1f}" height="18" fill="{colour}"/>')
        parts.append(text(x_of(max(ratio, aim)) + 8, y + 16, f"{ratio:.2f}", "start"))
        parts.append(line(x_of(passing), y - 2, x_of(passing), y + 26, "#24292f", 'stroke-width="2"'))
        parts.append(line(x_of(aim), y - 2, x_of(aim), y + 26, "#24292f", 'stroke-dasharray="3 3"'))
    parts.append(line(x_of(1), top - 6, x_of(1), top + step * len(rows), "#7a7f87"))
    parts.append(text(x_of(1), top - 10, "equal"))
    parts.append(text(width / 2, height - 8, "PyTorch's time / ours, logarithmic; solid: pass, dashed: aim"))
    return document(width, height, parts)


def panel(x, y, width, height, title, series):
    """series: (name, [(x, y), …], dashed); both axes logarithmic."""
    points = [point for _, values, _ in series for point in values]
    low_x, high_x = min(p[0] for p in points), max(p[0] for p in points)
    low_y, high_y = min(p[1] for p in points) / 1.3, max(p[1] for p in points) * 1.3

    def place(point):
        along = math.log(point[0] / low_x) / (math.log(high_x / low_x) or 1)
        up = math.log(point[1] / low_y) / math.log(high_y / low_y)
        return x + width * along, y + height * (1 - up)

    parts = [text(x + width / 2, y - 10, title), line(x, y, x, y + height), line(x, y + height, x + width, y + height)]
    for value in sorted({p[0] for p in points}):
        parts.append(text(place((value, high_y))[0], y + height + 16, value))
    for tick in range(5):
        value = low_y * (high_y / low_y) ** (tick / 4)
        level = place((low_x, value))[1]
        parts.append(line(x, level, x + width, level))
        parts.append(text(x - 5, level + 4, short(value), "end"))
    for index, (_, values, dashed) in enumerate(series):
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in map(place, values))
        dash = 'stroke-dasharray="5 4"' if dashed else ""
        colour = COLOURS[index % len(COLOURS)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" {dash}/>')
    return parts


def panels(title, rows):
    """rows: lists of (panel title, series); the names of the first panel's series make each row's legend."""
    wide, high, gap = 220, 170, 80
    columns = max(map(len, rows))
    width, height = columns * (wide + gap) + 20, len(rows) * (high + 90) + 40
    parts = [text(width / 2, 24, title, extra='font-weight="bold"')]
    for r, row in enumerate(rows):
        y = 70 + r * (high + 90)
        for c, (name, series) in enumerate(row):
            parts += panel(gap + c * (wide + gap) - 10, y, wide, high, name, series)
        legend = "   ".join(f"{'dashed' if dashed else 'solid'}: {name}" for name, _, dashed in row[0][1])
        parts.append(text(width / 2, y + high + 40, legend))
    return document(width, height, parts)

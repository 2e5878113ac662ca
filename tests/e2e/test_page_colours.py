#!/usr/bin/env python3
"""The colours of the memory plan can be told apart, also by people who are colour-blind, in both themes: the distance (CIE 1976)
between any two is measured as seen with normal vision and, by the matrices of Machado et al. (2009), without red, green or blue cones."""
import itertools
import re
from pathlib import Path

LEAST = 20  # two colours side by side are told apart at about 5; small areas with an edge between them need more
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((.152286, 1.052583, -.204868), (.114503, .786281, .099216), (-.003882, -.048116, 1.051998)),
    "deuteranopia": ((.367322, .860646, -.227968), (.280085, .672501, .047413), (-.011820, .042940, .968881)),
    "tritanopia": ((1.255528, -.076749, -.178779), (-.078411, .930809, .147602), (.004733, .691367, .303900)),
}


def linear(channel):
    return channel / 12.92 if channel <= .04045 else ((channel + .055) / 1.055) ** 2.4


def lab(red, green, blue):
    def cube(t):
        return t ** (1 / 3) if t > .008856 else 7.787 * t + 16 / 116
    x = cube((.4124 * red + .3576 * green + .1805 * blue) / .9505)
    y = cube(.2126 * red + .7152 * green + .0722 * blue)
    z = cube((.0193 * red + .1192 * green + .9505 * blue) / 1.089)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, matrix):
    channels = [linear(int(colour[i:i + 2], 16) / 255) for i in (1, 3, 5)]
    return lab(*(min(1, max(0, sum(a * b for a, b in zip(row, channels)))) for row in matrix))


css = (Path(__file__).parents[2] / "src/report/page/page.css").read_text()
themes = [re.findall(r"--plan-\d: (#[0-9a-f]{6})", part) for part in css.split("prefers-color-scheme: dark")[:2]]
assert [len(theme) for theme in themes] == [8, 8], themes
for theme, colours in zip(("light", "dark"), themes):
    distance, vision, pair = min((sum((p - q) ** 2 for p, q in zip(seen(a, matrix), seen(b, matrix))) ** .5, name, (a, b))
                                 for a, b in itertools.combinations(colours, 2) for name, matrix in VISION.items())
    print(f"{theme}: the closest pair is {pair} under {vision}, {distance:.1f} apart")
    assert distance >= LEAST, (theme, pair, vision, distance)

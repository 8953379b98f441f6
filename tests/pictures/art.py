"""Owns the drawings of the made-up web: an SVG for each page, the same one for the same name."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin
from random import Random

WIDTH, HEIGHT = 1200, 520
Palette = tuple[str, str, str, str]
"""The ground, two colours that differ from it in steps, and one that stands out."""


def drawing(kind: str, name: str, palette: Palette) -> str:
    shapes = _KINDS[kind](Random(name), palette)
    frame = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="xMidYMid slice" width="100%"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{palette[0]}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {frame}>{ground}{shapes}</svg>'


def _hills(random: Random, palette: Palette) -> str:
    """A sun over five ranges of hills, each darker than the one behind it."""
    sun = _disc(random.randint(250, 950), 150, 64, palette[3])
    ranges = (_range(random, 170 + 65 * number, palette[1 + number % 2], 0.45 + number * 0.13) for number in range(5))
    return sun + "".join(ranges)


def _range(random: Random, level: int, colour: str, opacity: float) -> str:
    heights = [level + random.randint(-55, 55) for _ in range(8)]
    curve = "".join(
        f" S{number * 172 - 60},{height} {number * 172},{height}" for number, height in enumerate(heights[1:], 1)
    )
    path = f"M0,{heights[0]}{curve} V{HEIGHT} H0 Z"
    return f'<path d="{path}" fill="{colour}" fill-opacity="{opacity:.2f}"/>'


def _waves(random: Random, palette: Palette) -> str:
    lines = []
    for row in range(12):
        shift = random.randint(0, 150)
        crests = "".join(f" q75,{-34 + row * 2} 150,0 t150,0" for _ in range(6))
        lines.append(f'<path d="M{-150 - shift},{90 + row * 38}{crests}" fill="none" stroke="{palette[1 + row % 2]}"/>')
    return f'<g stroke-width="9" stroke-linecap="round">{"".join(lines)}</g>' + _disc(960, 120, 56, palette[3])


def _rings(random: Random, palette: Palette) -> str:
    """The year rings of a tree."""
    x, y = random.randint(420, 780), 260
    rings = (
        f'<ellipse cx="{x + ring % 5}" cy="{y}" rx="{ring * 24}" ry="{ring * 21}" stroke="{palette[1 + ring % 2]}"/>'
        for ring in range(1, 30)
    )
    return f'<g fill="none" stroke-width="7">{"".join(rings)}</g>' + _disc(x, y, 14, palette[3])


def _tiles(random: Random, palette: Palette) -> str:
    """Quarter circles, each turned by chance."""
    shapes = []
    for place in range(12 * 6):
        x, y = place % 12 * 100, place // 12 * 100 - 40
        colour, turn = random.choice(palette[1:]), random.randrange(4) * 90
        turned = f'transform="rotate({turn} {x + 50} {y + 50})"'
        shapes.append(f'<path d="M{x},{y} h100 a100,100 0 0 1 -100,100 Z" fill="{colour}" {turned}/>')
    return "".join(shapes)


def _stars(random: Random, palette: Palette) -> str:
    sky = "".join(
        _disc(random.randint(0, WIDTH), random.randint(0, HEIGHT), random.choice((1, 2, 2, 4)), palette[1])
        for _ in range(170)
    )
    corners = [(random.randint(60, 150) + 140 * number, random.randint(110, 410)) for number in range(8)]
    path = " ".join(f"{x},{y}" for x, y in corners)
    joined = f'<polyline points="{path}" fill="none" stroke="{palette[2]}" stroke-width="3"/>'
    return sky + joined + "".join(_disc(x, y, 9, palette[3]) for x, y in corners)


def _leaves(random: Random, palette: Palette) -> str:
    shapes = []
    for number in range(46):
        x, y, turn = number * 27, random.randint(20, 500), random.randint(0, 180)
        colour = palette[3] if number % 11 == 5 else palette[1 + number % 2]
        turned = f'fill-opacity=".85" transform="translate({x} {y}) rotate({turn})"'
        shapes.append(f'<path d="M0,-62 q46,62 0,124 q-46,-62 0,-124" fill="{colour}" {turned}/>')
    return "".join(shapes)


def _bars(random: Random, palette: Palette) -> str:
    """A chart: the heights of thirty years, the highest of another colour."""
    heights = [90 + number * 7 + random.randint(-60, 110) for number in range(30)]
    return "".join(
        f'<rect x="{40 + number * 38}" y="{470 - height}" width="24" height="{height}" rx="4" '
        f'fill="{palette[3] if height == max(heights) else palette[1 + number % 2]}"/>'
        for number, height in enumerate(heights)
    )


def _wheel(random: Random, palette: Palette) -> str:
    turn = random.random()
    spokes = (_spoke((number + turn) * pi / 12, palette[1 + number % 2]) for number in range(24))
    hub = _disc(600, 260, 120, palette[3]) + _disc(600, 260, 74, palette[0])
    return f'<g stroke-width="26">{"".join(spokes)}</g>{hub}'


def _spoke(angle: float, colour: str) -> str:
    x, y = 600 + 620 * cos(angle), 260 + 620 * sin(angle)
    return f'<line x1="600" y1="260" x2="{x:.0f}" y2="{y:.0f}" stroke="{colour}"/>'


def _moon(random: Random, palette: Palette) -> str:
    """A moon of the phase that its page's name gives it, over quiet water."""
    lit = random.randint(-150, 150)
    water = "".join(
        f'<rect x="{500 - row * 14}" y="{400 + row * 20}" width="{200 + row * 28}" height="6" fill="{palette[2]}"/>'
        for row in range(6)
    )
    shade = f'<ellipse cx="{600 + lit}" cy="200" rx="150" ry="150" fill="{palette[0]}" fill-opacity=".9"/>'
    return _disc(600, 200, 150, palette[3]) + shade + water


def _disc(x: int, y: int, radius: int, colour: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}"/>'


_KINDS: dict[str, Callable[[Random, Palette], str]] = {
    "hills": _hills, "waves": _waves, "rings": _rings, "tiles": _tiles, "stars": _stars, "leaves": _leaves,
    "bars": _bars, "wheel": _wheel, "moon": _moon,
}  # fmt: skip

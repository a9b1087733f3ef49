"""The wiring of recurrent cells: what one step does with a state and an input.

A box is a layer with weights, a circle works element by element. What belongs to one step of the
walk through an LSTM (forget, store, update, output) has one name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from unspool.insight.plots.style import COLOURS
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]


class Node(NamedTuple):
    text: str
    at: Point
    step: str = ""
    layer: bool = False  # a box


class Wire(NamedTuple):
    points: tuple[Point, ...]
    step: str = ""
    dashed: bool = False


class Mark(NamedTuple):
    """The letter of what a wire carries, right or left (-1) of a point on it."""

    text: str
    at: Point
    step: str = ""
    side: int = 1


class Wiring(NamedTuple):
    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    names: dict[str, Point]  # of what comes in and goes out
    equations: tuple[str, ...]
    marks: tuple[Mark, ...] = ()


LOW, GATES, HIGH = 0.6, 1.5, 3.4  # where h, the gates and c are
STATES = {
    "$h_{t-1}$": (-0.4, LOW),
    "$x_t$": (0.6, -0.65),
    "$h_t$": (6.35, LOW),
    "$c_{t-1}$": (-0.45, HIGH),
    "$c_t$": (6.35, HIGH),
}
INPUT = Wire(((0.6, -0.4), (0.6, LOW)))
KEPT = (Wire(((0, HIGH), (6, HIGH)), "update"), Wire(((0, LOW), (3.9, LOW))), INPUT)
OUTPUT = (
    Wire(((3.9, LOW), (3.9, GATES), (4.9, GATES)), "output"),
    Wire(((4.9, HIGH), (4.9, GATES)), "output"),
    Wire(((4.9, GATES), (4.9, LOW), (6, LOW)), "output"),
)
FORGET = Wire(((1.2, LOW), (1.2, HIGH)), "forget")
CANDIDATE = Wire(((3.0, LOW), (3.0, 2.5), (2.55, 2.5)), "store")
STORE = Wire(((2.55, 2.5), (2.55, HIGH)), "store")
ENDS = (
    Node("σ", (1.2, GATES), "forget", layer=True),
    Node("tanh", (3.0, GATES), "store", layer=True),
    Node("σ", (3.9, GATES), "output", layer=True),
    Node("×", (1.2, HIGH), "forget"),
    Node("×", (2.55, 2.5), "store"),
    Node("+", (2.55, HIGH), "update"),
    Node("tanh", (4.9, 2.5), "output"),
    Node("×", (4.9, GATES), "output"),
)
MARKS = (
    Mark("$f_t$", (1.2, 2.3), "forget", side=-1),
    Mark("$g_t$", (3.0, 2.3), "store"),
    Mark("$o_t$", (4.1, 1.8), "output"),
)
LSTM = Wiring(
    (*ENDS, Node("σ", (2.1, GATES), "store", layer=True)),
    (
        *KEPT,
        FORGET,
        Wire(((2.1, LOW), (2.1, 2.5), (2.55, 2.5)), "store"),
        CANDIDATE,
        STORE,
        *OUTPUT,
    ),
    STATES,
    (
        r"$f_t = \sigma(W_f x_t + U_f h_{t-1} + b_f)$",
        r"$i_t = \sigma(W_i x_t + U_i h_{t-1} + b_i)$",
        r"$g_t = \tanh(W_g x_t + U_g h_{t-1} + b_g)$",
        r"$c_t = f_t \odot c_{t-1} + i_t \odot g_t$",
        r"$o_t = \sigma(W_o x_t + U_o h_{t-1} + b_o)$",
        r"$h_t = o_t \odot \tanh(c_t)$",
    ),
    (*MARKS, Mark("$i_t$", (2.1, 2.3), "store", side=-1)),
)
STEPS = {  # of the walk through it: what happens, and its equations
    "forget": ("how much of the memory stays", (0,)),
    "store": ("what is new, and how much of it to write", (1, 2)),
    "update": ("the new memory: a sum", (3,)),
    "output": ("how much of the memory to show", (4, 5)),
}
LIT = {  # what each of them also has to do with: what it is given
    "forget": (INPUT, Wire(((0, LOW), (1.2, LOW))), Wire(((0, HIGH), (1.2, HIGH)))),
    "store": (INPUT, Wire(((0, LOW), (3.0, LOW)))),
    "update": (STORE,),
    "output": (INPUT, Wire(((0, LOW), (3.9, LOW)))),
}
TAKEN = {"update": ((1.2, HIGH), (2.55, 2.5))}  # nodes of others of which it is the sum
CELLS: dict[str, Wiring] = {
    "elman": Wiring(
        (Node("tanh", (3, LOW), layer=True),),
        (Wire(((0, LOW), (6, LOW))), INPUT),
        {name: at for name, at in STATES.items() if "c" not in name},
        (r"$h_t = \tanh(W x_t + U h_{t-1} + b)$",),
    ),
    "lstm": LSTM,
    "peephole": LSTM._replace(
        wires=(
            *LSTM.wires,
            Wire(((0.4, HIGH), (0.4, 2.0), (1.95, 2.0), (1.95, GATES)), dashed=True),
            Wire(((1.05, 2.0), (1.05, GATES)), dashed=True),
            Wire(((3.75, HIGH), (3.75, GATES)), dashed=True),
        ),
        equations=(
            r"$f_t = \sigma(W_f x_t + U_f h_{t-1} + P_f c_{t-1} + b_f)$",
            r"$i_t = \sigma(W_i x_t + U_i h_{t-1} + P_i c_{t-1} + b_i)$",
            r"$o_t = \sigma(W_o x_t + U_o h_{t-1} + P_o c_t + b_o)$",
        ),
    ),
    "coupled": Wiring(
        (*ENDS, Node("1−", (1.85, 2.5))),
        (*KEPT, FORGET, Wire(((1.2, 2.5), (2.55, 2.5))), CANDIDATE, STORE, *OUTPUT),
        STATES,
        (r"$c_t = f_t \odot c_{t-1} + (1 - f_t) \odot g_t$",),
        MARKS,
    ),
    "gru": Wiring(
        (
            Node("σ", (1.3, GATES), layer=True),
            Node("σ", (2.7, GATES), layer=True),
            Node("tanh", (4.4, GATES), layer=True),
            Node("×", (1.3, 2.4)),
            Node("1−", (2.7, 2.75)),
            Node("×", (2.7, HIGH)),
            Node("×", (4.4, 2.5)),
            Node("+", (4.4, HIGH)),
        ),
        (
            Wire(((0, HIGH), (6, HIGH))),
            Wire(((0.3, HIGH), (0.3, LOW), (2.7, LOW), (2.7, HIGH))),
            Wire(((0.6, -0.4), (0.6, LOW))),
            Wire(((0.6, 0.1), (4.4, 0.1), (4.4, HIGH))),
            Wire(((1.3, LOW), (1.3, 2.4))),
            Wire(((0.3, 2.4), (1.3, 2.4))),
            Wire(((1.3, 2.4), (2.0, 2.4), (2.0, 0.95), (4.2, 0.95), (4.2, GATES))),
            Wire(((2.7, 2.2), (3.5, 2.2), (3.5, 2.5), (4.4, 2.5))),
        ),
        {"$h_{t-1}$": (-0.45, HIGH), "$h_t$": (6.35, HIGH), "$x_t$": (0.6, -0.65)},
        (
            r"$r_t = \sigma(W_r x_t + U_r h_{t-1})$",
            r"$z_t = \sigma(W_z x_t + U_z h_{t-1})$",
            r"$n_t = \tanh(W_n x_t + U_n (r_t \odot h_{t-1}))$",
            r"$h_t = (1 - z_t) \odot h_{t-1} + z_t \odot n_t$",
        ),
        (Mark("$r_t$", (1.3, 1.98)), Mark("$z_t$", (2.7, 2.0), side=-1), Mark("$n_t$", (4.4, 2.0))),
    ),
}


def cells_figure() -> Figure:
    """Elman's cell, the LSTM and what became of it, with the equations that make the difference."""
    drawn = list(CELLS.items())
    rooms = [max(len(wiring.equations) for _, wiring in row) for row in (drawn[:3], drawn[3:])]
    figure = new_figure(10.8, 6.6)
    grid = figure.subplots(2, 3, height_ratios=[height(room) for room in rooms]).ravel()
    for i, (axes, (name, wiring)) in enumerate(zip(grid, drawn)):
        draw_wiring(axes, wiring, title=name, equations=wiring.equations, room=rooms[i // 3])
    for axes in grid[len(CELLS) :]:
        axes.axis("off")
        about = "box: a layer with weights\ncircle: element by element\ndashed: peepholes"
        axes.text(0.1, 0.6, about, transform=axes.transAxes, fontsize=10, va="top")
    return figure


def steps_figure() -> Figure:
    """One step of an LSTM as four: forget, store, update, output."""
    figure = new_figure(9.6, 7.0)
    for number, (axes, (name, (about, lines))) in enumerate(
        zip(figure.subplots(2, 2).ravel(), STEPS.items()), start=1
    ):
        draw_wiring(
            axes,
            LSTM,
            title=f"{number}. {name}: {about}",
            equations=[LSTM.equations[i] for i in lines],
            room=2,
            lit=name,
        )
    return figure


def height(room: int) -> float:
    """The height of a wiring with so many lines below it."""
    return 4.9 + 0.52 * room


def draw_wiring(
    axes: Axes,
    wiring: Wiring,
    *,
    title: str,
    equations: Collection[str],
    room: int,
    lit: str | None = None,
) -> None:
    """The wires, then the nodes upon them; of a walk those of the step `lit` in colour.

    room   lines that there is room for below
    """
    wires = [(wire, lit is not None and wire.step == lit) for wire in wiring.wires]
    wires += [(wire, True) for wire in LIT.get(lit or "", ())]
    for wire, bright in sorted(wires, key=lambda each: each[1]):
        colour, width = ("0.25" if lit is None else "0.78", 1.2)
        if bright:
            colour, width = COLOURS[1], 2.4
        axes.plot(*zip(*wire.points), color=colour, linewidth=width, zorder=1,
                  linestyle="--" if wire.dashed else "-", solid_joinstyle="round")  # fmt: skip
    for node in wiring.nodes:
        colour, ink = (COLOURS[5] if node.layer else "white", "black")
        if lit is not None:
            bright = node.step == lit or node.at in TAKEN.get(lit, ())
            colour, ink = (COLOURS[4], "black") if bright else ("white", "0.6")
        shape = "round,pad=0.35" if node.layer else "circle,pad=0.25"
        frame = {"boxstyle": shape, "facecolor": colour, "edgecolor": ink}
        axes.text(*node.at, node.text, ha="center", va="center", fontsize=8, color=ink, bbox=frame)
    for mark in wiring.marks:
        (x, y), ha = mark.at, "left" if mark.side > 0 else "right"
        ink = "black" if lit is None or mark.step == lit else "0.6"
        axes.text(x + 0.1 * mark.side, y, mark.text, ha=ha, va="center", fontsize=9, color=ink)
    for name, at in wiring.names.items():
        axes.text(*at, name, ha="center", va="center", fontsize=10)
    axes.text(3, -0.8, "\n".join(equations), ha="center", va="top", fontsize=9, linespacing=1.4)
    axes.set_title(title, fontsize=10)
    axes.set_xlim(-0.8, 6.8)
    axes.set_ylim(3.9 - height(room), 3.9)
    axes.axis("off")

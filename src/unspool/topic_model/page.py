"""Topics as one HTML file: words, documents, a map, shares over time; nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from unspool.io.html import document, figure, listed
from unspool.topic_model.map import centres
from unspool.topic_model.result import NearDocument, Topic, Topics
from unspool.topic_model.times import OverTime

COLOURS = tuple(f"var(--series-{i})" for i in range(1, 7))
WIDTH, HEIGHT, MARGIN = 960, 640, 24
DOT = 3.2
# Around a dot, at its size; topics of one colour differ in shape.
SHAPES = (
    "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",  # a circle
    "M-.9-.9h1.8v1.8h-1.8z",
    "M0-1.2L1.1.8H-1.1z",
    "M0-1.3L1.1 0L0 1.3L-1.1 0z",
    "M0 1.2L1.1-.8H-1.1z",
    "M-.4-1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z",
)
BAR = 26  # width of a period of the chart, at most
CHART, LEFT, BOTTOM = 46, 210, 18


def page(topics: Topics) -> str:
    """The whole file."""
    body = [
        "<h1>Topics</h1>",
        f'<p class="soft">{escape(topics.summary)}</p>',
        f"<p>{escape(topics.lines()[0])}</p>",
        overview(topics.topics),
        *([figure(map_caption(topics), drawn_map(topics))] if topics.points else []),
        *([figure(time_caption(topics.times), drawn_times(topics))] if topics.times else []),
        "<h2>Each topic</h2>",
        *(section(topic) for topic in topics.topics),
        *listed("How they were found", topics.notes),
    ]
    return document(f"Topics of {topics.summary.split(':')[0]}", body)


def colour(number: int) -> str:
    return COLOURS[(number - 1) % len(COLOURS)]


def mark(number: int, x: float, y: float, title: str) -> str:
    """The dot of a document."""
    shape = SHAPES[(number - 1) // len(COLOURS) % len(SHAPES)]
    return (
        f'<path d="{shape}" transform="translate({x:.1f} {y:.1f}) scale({DOT})"'
        f' fill="{colour(number)}" fill-opacity="0.6"><title>{escape(title)}</title></path>'
    )


def overview(topics: Sequence[Topic]) -> str:
    most = max(topic.share for topic in topics) or 1.0
    rows = "".join(
        f'<tr><td class="number">{topic.number}</td>'
        f'<td><svg viewBox="0 0 12 12" style="width:.75rem">{mark(topic.number, 6, 6, topic.name)}'
        "</svg></td>"
        f'<td class="text"><a href="#topic-{topic.number}">'
        f"{escape(' '.join(word for word, _ in topic.words))}</a></td>"
        f'<td><svg viewBox="0 0 120 12" role="img" style="width:7.5rem">'
        f'<rect width="{120 * topic.share / most:.1f}" height="12" fill="{colour(topic.number)}"/>'
        f'</svg></td><td class="number">{100 * topic.share:.1f} %</td>'
        f'<td class="number">{topic.documents:,}</td><td class="number">{topic.coherence:.3f}</td>'
        "</tr>"
        for topic in topics
    )
    head = (
        '<tr><th></th><th></th><th>words</th><th></th><th class="number">share</th>'
        '<th class="number">documents</th><th class="number">NPMI</th></tr>'
    )
    return f'<section class="scroll"><table>{head}{rows}</table></section>'


def map_caption(topics: Topics) -> str:
    how = {"tsne": "t-SNE", "pca": "two principal components"}[topics.config.topics.map]
    return (
        f"{len(topics.points):,} documents by {how}; a dot is a document, whose tooltip shows how"
        " it begins; a number is in the middle of its topic"
    )


def drawn_map(topics: Topics) -> str:
    xs, ys = [p.x for p in topics.points], [p.y for p in topics.points]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            MARGIN + (WIDTH - 2 * MARGIN) * (x - min(xs)) / wide,
            HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (y - min(ys)) / high,
        )

    names = {topic.number: topic.name for topic in topics.topics}
    parts = []
    for p in topics.points:
        parts.append(mark(p.topic, *at(p.x, p.y), f"{names[p.topic]}: {p.text}"))
    for number, centre in sorted(centres(topics).items()):
        x, y = at(*centre)
        parts.append(
            f'<a href="#topic-{number}"><circle cx="{x:.1f}" cy="{y:.1f}" r="11"'
            ' fill="var(--surface)" fill-opacity="0.9" stroke="var(--line)"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{number}'
            f"<title>{escape(names[number])}</title></text></a>"
        )
    drawn = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
    return f'<div class="scroll wide">{drawn}</div>'


def time_caption(times: OverTime) -> str:
    undated = f"; {times.undated:,} documents have no date" if times.undated else ""
    return f"Share of each topic by {times.unit}, each row at its own scale{undated}"


def drawn_times(topics: Topics) -> str:
    times = topics.times
    assert times is not None
    width = min(BAR, (WIDTH - LEFT - 60) / len(times.periods))
    return f'<div class="scroll">{"".join(_rows(topics, times, width))}</div>'


def _rows(topics: Topics, times: OverTime, width: float) -> Iterator[str]:
    height = CHART * len(topics) + BOTTOM
    yield f'<svg viewBox="0 0 {WIDTH} {height}" role="img" style="min-width:40rem">'
    for k, topic in enumerate(topics.topics):
        shares, base = times.shares[:, k], CHART * (k + 1)
        most = float(shares.max()) or 1.0
        yield (
            f'<text x="{LEFT - 10}" y="{base - 6}" text-anchor="end">{escape(topic.name[:34])}'
            f"<title>{escape(topic.name)}</title></text>"
        )
        for i, (name, share) in enumerate(zip(times.periods, shares.tolist())):
            tall = (CHART - 10) * share / most
            yield (
                f'<rect x="{LEFT + i * width:.1f}" y="{base - tall:.1f}"'
                f' width="{max(1.0, width - 2):.1f}" height="{tall:.1f}"'
                f' fill="{colour(topic.number)}"><title>{escape(name)}: {100 * share:.1f} % of'
                f" {int(times.documents[i]):,} documents</title></rect>"
            )
        end = LEFT + len(times.periods) * width + 6
        yield f'<text class="soft" x="{end:.1f}" y="{base - 6}">{100 * most:.0f} %</text>'
    last = LEFT + len(times.periods) * width
    yield f'<text class="soft" x="{LEFT}" y="{height - 3}">{escape(times.periods[0])}</text>'
    yield (
        f'<text class="soft" x="{last:.1f}" y="{height - 3}" text-anchor="end">'
        f"{escape(times.periods[-1])}</text></svg>"
    )


def section(topic: Topic) -> str:
    most = topic.words[0][1] if topic.words else 1.0
    words = " ".join(
        f'<span style="opacity:{0.55 + 0.45 * weight / most:.2f}">{escape(word)}</span>'
        for word, weight in topic.words
    )
    return (
        f'<section id="topic-{topic.number}"><h3><span style="color:{colour(topic.number)}">'
        f"{topic.number}</span> {words}</h3>"
        f'<p class="soft">{100 * topic.share:.1f} % of a document on average, the largest topic of'
        f" {topic.documents:,} documents, NPMI {topic.coherence:.3f}</p>"
        f"{documents(topic.nearest)}</section>"
    )


def documents(nearest: Sequence[NearDocument]) -> str:
    rows = "".join(
        f'<tr><td class="where">{escape(d.where)}</td><td class="number">{d.nearness:.3f}</td>'
        f'<td class="text">{escape(d.text)}</td></tr>'
        for d in nearest
    )
    return f'<div class="scroll"><table>{rows}</table></div>' if rows else ""

"""Topics: what a corpus is about, without labels. Documents in, topics with their words out.

    found = unspool.topics("reviews.csv", count=20)
    found.predict(["a fine film"])

settings   all settings                  corpus     documents, words, counts
methods    nmf, lda, clusters            vectors    a vector for each document
words      class-based TF-IDF            coherence  NPMI
times      shares over time              map        where documents lie
fitting    all of them in order          result     what comes out
folder     saved and loaded              page       as HTML
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unspool.config.resolve import read_toml
from unspool.data.read.memory import source_of
from unspool.data.store.columns import Progress
from unspool.topic_model.fitting import find_topics
from unspool.topic_model.folder import is_topics, load_topics, save_topics, train_command
from unspool.topic_model.result import Topic, TopicAnswer, Topics
from unspool.topic_model.settings import make_config
from unspool.topic_model.vectors import model_record
from unspool.training.output_folder import check_free, free_folder
from unspool.training.progress import Note, watching

__all__ = ["Topic", "TopicAnswer", "Topics", "topics"]


def topics(
    data: Any,
    *,
    start: str | Path | None = None,
    date: str | None = None,
    out: str | Path | None = None,
    config: str | None = None,
    quiet: bool = False,
    note: Note | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Topics:
    """The topics of a corpus; everything about them lies in the folder `out`. Or, where `data` is
    such a folder, those that were found before.

    data      a file of any of the formats, a folder of .txt files, "-", or values in memory as of
              `train`; labels are not looked at
    start     the folder of a model, whose vectors of documents are clustered
    date      the column of the dates; "none": there is none
    settings  any setting by its name: method="lda", count=20, stop_words="english", text="review"
    """
    if isinstance(data, str | Path) and is_topics(data):
        return load_topics(data, start=start)
    if start is not None:
        settings = {"method": "clusters", **settings}
    chosen = make_config(settings, read_toml(config) if config else {}, config)
    source = source_of(data)
    named = isinstance(source, str | Path)
    folder = (
        Path(out) if out is not None else free_folder(str(source) if named else "data", "topics")
    )
    check_free(folder)
    with watching(quiet, note=note, progress=progress) as shown:
        model_topics, documents, assigned = find_topics(
            source, chosen, start=start, date=date, note=shown.note, progress=shown.progress
        )
        if start is not None:
            model_topics.start = model_record(start)
        label, _ = save_topics(model_topics, documents, assigned, folder)
        shown.note(f"all of it: {folder}; as a page: {folder / 'topics.html'}")
        shown.note(f"next: {train_command(documents.plan, folder, label)}")
    return model_topics

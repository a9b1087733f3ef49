"""The encoding of a text that is not UTF-8 is suggested by trying."""

import pytest

from unspool.data.read.content import encoding_of, suggestion

TEXTS = {
    "cp1252": "It’s “fine” – a café, Ein schöner Film, groß und äußerst gut; é uma ótima opção",
    "cp1251": "Очень хороший фильм, мне понравилось",
    "koi8-r": "Очень хороший фильм, мне понравилось",
    "cp1250": "Film byl velmi dobrý a příběh zajímavý, ale konec mě zklamal. Wszystko było świetne",
    "cp1253": "Πολύ καλή ταινία για τον πόλεμο",
    "cp1254": "Çok güzel bir film, ağladım ve güldüm, şimdi hiç",
    "cp1255": "סרט טוב מאוד על המלחמה",
    "cp1256": "فيلم جيد جدا عن الحرب والسلام",
    "gb18030": "这部电影非常好看，我很喜欢",
    "big5": "這部電影非常好看，我很喜歡",
    "shift_jis": "とても面白い映画でした。また見たいです",
    "euc_jp": "とても面白い映画でした。また見たいです",
    "euc_kr": "이 영화는 정말 재미있었습니다",
}


@pytest.mark.parametrize("name", TEXTS)
def test_suggestion(name: str) -> None:
    lines = "plain lines tell nothing\n" * 50 + f"pos\t{TEXTS[name]}\n" * 3
    assert suggestion(lines.encode(name)) == name


def test_noise_is_no_text() -> None:
    assert suggestion(bytes(range(128, 256)) * 20) is None


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"plain", "utf-8"),
        ("héllo".encode(), "utf-8"),
        ("plain text\n".encode("utf-16-le"), "utf-16-le"),
        ("plain text\n".encode("utf-16-be"), "utf-16-be"),
        ("plain".encode("utf-16"), "utf-16"),
        ("plain".encode("utf-32"), "utf-32"),
        (b"a\0b and more text than that", "utf-8"),
    ],
)
def test_marks_and_zero_bytes(head: bytes, found: str) -> None:
    assert encoding_of(head, "utf-8") == found
    assert encoding_of(head, "latin-1") == "iso8859-1"


def test_one_odd_byte_does_not_make_english_turkish() -> None:
    assert suggestion(b"It was fine.\nA na\xfeve film.\nplain\n") is None
    assert suggestion(b"It was fine.\nA caf\xe9.\nplain\n") == "cp1252"
    assert suggestion("güzel ığdır şeker çok ağaç\n".encode("cp1254")) == "cp1254"

"""Public text of Debian's own packages, one sentence a line: what the small trained models of docs/reports have read.

In: a Debian machine (`apt-get download`; nothing is installed). Out: `english.txt` (the King James Bible, the Anarchist
FAQ, the Jargon File, the glosses of WordNet, handbook, FAQ, fortunes), `chinese.txt` (handbook, reference,
FAQ, manual pages and fortunes in Chinese) and `world.txt` (the handbook in 22 other languages). None of it is in a
corpus of judgments.
"""

import gzip
import html
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ENGLISH: tuple[str, ...] = (
    "bible-kjv",
    "bible-kjv-text",
    "anarchism",
    "jargon-text",
    "wordnet-base",
    "debian-handbook",
)
ENGLISH += ("debian-history", "debian-faq", "fortunes")
CHINESE = ("debian-reference-zh-cn", "debian-faq-zh-cn", "fortunes-zh", "manpages-zh")
PACKAGES = ENGLISH + CHINESE
FORTUNES = (
    *("cookie", "wisdom", "people", "science", "literature", "songs-poems", "work", "politics", "law", "humorists"),
)
TAG = re.compile(r"<[^>]+>")
BLOCK = re.compile(r'<(?:(?:p|li|dd|td)(?:\s[^>]*)?|div class="para"[^>]*)>(.*?)</(?:p|li|dd|td|div)>', re.S)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(])|(?<=[。！？])")
SCRIPT = re.compile(r"[\u4e00-\u9fff]")


def unpacked(folder: Path) -> Path:
    """Download the packages into a folder and unpack them there, without installing; return where."""
    packages, root = folder / "packages", folder / "root"
    packages.mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    here = {path.name.split("_")[0] for path in packages.glob("*.deb")}
    missing = [name for name in PACKAGES if name not in here]
    if missing:
        subprocess.run(["apt-get", "download", *missing], cwd=packages, check=True, capture_output=True)
    for path in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(path), str(root)], check=True)
    return root


def write_texts(folder: Path) -> dict[str, Path]:
    """Write the three texts and return their paths by name; they are kept where they stand already."""
    paths = {name: folder / f"{name}.txt" for name in ("english", "chinese", "world")}
    if all(path.is_file() for path in paths.values()):
        return paths
    root = unpacked(folder)
    texts = {"english": english(root), "chinese": chinese(root), "world": world(root)}
    for name, lines in texts.items():
        paths[name].write_text("\n".join(dict.fromkeys(lines)) + "\n", encoding="utf-8")
        print(f"{name}: {paths[name].stat().st_size / 1e6:.1f} MB")  # noqa: T201 - a script
    return paths


def english(root: Path) -> Iterator[str]:
    """Yield the sentences of the English packages, in a fixed order."""
    doc = root / "usr/share/doc"
    yield from _prose(_bible(root))
    for folder in ("anarchism/html", "debian-handbook/html/en-US", "debian-history/docs", "debian/FAQ"):
        yield from _prose(_pages((doc / folder).rglob("*.html")))
    jargon = gzip.decompress((doc / "jargon-text/jargon.txt.gz").read_bytes()).decode("utf-8", "replace")
    yield from _prose(jargon.split("\n\n"))
    for path in sorted((root / "usr/share/wordnet").glob("data.*")):
        glosses = (line.split(" | ", 1)[1] for line in path.read_text().splitlines() if " | " in line)
        yield from _prose(
            part for gloss in glosses for part in re.findall(r'"([^"]+)"|([^";]+)', gloss) for part in part if part
        )
    for name in FORTUNES:
        path = root / "usr/share/games/fortunes" / name
        if path.is_file():
            yield from _prose(path.read_text(encoding="utf-8", errors="replace").split("\n%\n"))


def chinese(root: Path) -> Iterator[str]:
    doc = root / "usr/share/doc"
    pages = [
        *(doc / "debian-handbook/html/zh-CN").glob("*.html"),
        *(root / "usr/share/debian-reference").glob("*.zh-cn.html"),
    ]
    pages += [*(doc / "debian/FAQ/zh-cn").glob("*.html")]
    manuals = (_manual(path) for path in sorted((root / "usr/share/man/zh_CN").rglob("*.gz")))
    fortunes = [root / "usr/share/games/fortunes" / name for name in ("chinese", "tang300", "song100")]
    poems = (part for path in fortunes if path.is_file() for part in path.read_text(errors="replace").split("%"))
    blocks = [*_pages(pages), *(block for manual in manuals for block in manual), *poems]
    for sentence in _sentences(blocks):
        if 5 <= len(sentence) <= 300 and len(SCRIPT.findall(sentence)) > len(sentence) / 2:
            yield sentence


def world(root: Path) -> Iterator[str]:
    folder = root / "usr/share/doc/debian-handbook/html"
    source = set(_sentences(_pages((folder / "en-US").glob("*.html"))))
    for language in sorted(path for path in folder.iterdir() if path.name not in {"en-US", "zh-CN", "zh-TW"}):
        for sentence in _sentences(_pages(language.glob("*.html"))):
            if sentence not in source and 10 <= len(sentence) <= 400:
                yield sentence


def _bible(root: Path) -> list[str]:
    command = [
        str(root / "usr/bin/bible"),
        "-l2000",
        "-d",
        "bible.data",
        "-p",
        str(root / "usr/lib"),
        "gen1:1-rev22:21",
    ]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    return [re.sub(r"^\s*\S*\d+:?\d*\s+", "", line) for line in printed.splitlines()]


def _pages(paths: Iterable[Path]) -> Iterator[str]:
    for path in sorted(paths):
        for block in BLOCK.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield html.unescape(TAG.sub("", block))


def _manual(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    lines = (
        re.sub(r"\\(f.|f\(..|[,/&])|\\", "", line) for line in text.splitlines() if not line.startswith((".", "'"))
    )
    return list(lines)


def _prose(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the sentences that are words, not lists of commands."""
    for sentence in _sentences(blocks):
        letters = sum(char.isalpha() or char == " " for char in sentence)
        if 3 <= sentence.count(" ") <= 60 and letters > 0.9 * len(sentence):
            yield sentence


def _sentences(blocks: Iterable[str]) -> Iterator[str]:
    for block in blocks:
        for sentence in SENTENCE_END.split(" ".join(block.split())):
            if sentence := (sentence or "").strip():
                yield sentence

"""Markdown and HTML of a report."""

import html
import re
from html.parser import HTMLParser

import pytest
from synthetic import make_result, save_all

from trellex.report import page
from trellex.report.blocks import Cell, Heading, Paragraph, Picture, Table
from trellex.report.page import render, write_report
from trellex.report.result_set import ResultSet
from trellex.report.sections import sections

EMPTY_TAGS = {"meta"}
NASTY = '<b>&"x"|*_`'


class WellFormed(HTMLParser):
    """Fails unless every tag is closed by its own; gathers text and identifiers."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.ids, self.tags = [], [], [], set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in EMPTY_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Three methods, one of a nasty name."""
    made = [make_result(head=head, sentences=30) for head in ("softmax", "hybrid-512", "hybrid-2048")]
    made.append(make_result(head={"type": "binary-ec", "code": {"file": NASTY}, "decoding": "paper"}, sentences=30))
    folder = tmp_path_factory.mktemp("page")
    save_all(made, folder)
    return folder


@pytest.fixture(scope="module")
def files(results):
    return render(sections(ResultSet.load(results)))


class TestTable:
    def test_markdown(self):
        table = Table("A_b", ["method", "x|y"], notes=["so <it> is"])
        table.add("softmax", Cell("1.0", "bold"))
        table.add("a|b", Cell("0.5", "italic"))
        assert table.markdown().splitlines() == [
            r"**A\_b**",
            "",
            r"| method | x\|y |",
            "| :--- | ---: |",
            "| softmax | **1.0** |",
            r"| a\|b | *0.5* |",
            "",
            r"so \<it\> is",
        ]

    def test_html(self):
        table = Table("A<b", ["method", "x"])
        table.add("a&b", Cell("1", "bold"))
        text = table.html()
        assert "<caption>A&lt;b</caption>" in text
        assert '<th scope="row">a&amp;b</th><td><strong>1</strong></td>' in text

    def test_a_row_that_does_not_fit(self):
        with pytest.raises(ValueError, match="1 cells under 2 headings"):
            Table("T", ["a", "b"]).add("x")


class TestHtml:
    def test_is_well_formed_and_stands_alone(self, files):
        text = files["index.html"].decode()
        parsed = WellFormed(text)
        assert len(parsed.ids) == len(set(parsed.ids))
        assert text.count("<svg ") == text.count("</svg>") == 4
        assert not parsed.tags & {"script", "link", "img"}
        assert not re.search(r"(src|href)=\"(?!#)", text.replace("xlink:href", ""))

    def test_every_reference_inside_has_its_target(self, files):
        text = files["index.html"].decode()
        targets = re.findall(r'href="#([^"]*)"', text) + re.findall(r"url\(#([^)]*)\)", text)
        assert targets
        assert set(targets) <= set(WellFormed(text).ids)

    def test_names_are_escaped(self, files):
        text = files["index.html"].decode()
        assert NASTY not in text
        assert html.escape(f"binary-ec (code {NASTY})") in text
        assert f"binary-ec (code {NASTY})" in WellFormed(text).text


class TestMarkdown:
    def test_tables_have_as_many_cells_as_headings(self, files):
        rows = [line for line in files["report.md"].decode().splitlines() if line.startswith("|")]
        tables = re.split(r"\n\n", "\n".join(files["report.md"].decode().splitlines()))
        assert rows
        for table in (part.splitlines() for part in tables if part.startswith("|")):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table}) == 1

    def test_links_the_figures_that_are_written(self, files):
        linked = re.findall(r"\]\((\S+)\)", files["report.md"].decode())
        assert len(linked) == 4
        assert set(linked) == {path for path in files if path.endswith(".svg")}

    def test_says_the_same_as_the_html(self, files):
        markdown, text = files["report.md"].decode(), files["index.html"].decode()
        for heading in re.findall(r"^#{2,3} (.*)$", markdown, re.M):
            assert f">{html.escape(heading)}</h" in text


class TestWhichBleu:
    """Every text and figure says whether it is the mean of 5 evaluations or that of the best checkpoint."""

    MEAN, BEST = "the mean of test BLEU over 5 consecutive", "test BLEU of the checkpoint that is best on dev"

    @pytest.fixture
    def report(self, tmp_path):
        """Makes the report of results with so many evaluations each."""

        def report(**evaluations):
            made = []
            for direction, number in evaluations.items():
                for head in ("softmax", "hybrid-512", "hybrid-2048"):
                    made.append(make_result(direction=direction.replace("_", "-"), head=head, sentences=30))
                    made[-1].curve = made[-1].curve[:number]
            return render(sections(ResultSet.load(save_all(made, tmp_path / "results"))))

        return report

    def test_few(self, report):
        files = report(en_ja=9)
        text = files["report.md"].decode()
        assert f"by greedy search: {self.BEST}, since trainings with fewer than 10 evaluations" in text
        for name in ("output-size", "hybrid-sizes"):
            assert "Test BLEU (best checkpoint), %" in files[f"figures/{name}-kftt-en-ja.svg"].decode()
        assert not any(b"mean of 5 evaluations" in data or self.MEAN.encode() in data for data in files.values())

    def test_many(self, report):
        files = report(en_ja=10)
        assert f"by greedy search: {self.MEAN}" in files["report.md"].decode()
        for name in ("output-size", "hybrid-sizes"):
            assert "Test BLEU (mean of 5 evaluations), %" in files[f"figures/{name}-kftt-en-ja.svg"].decode()
        assert not any(b"best checkpoint), %" in data for data in files.values())

    def test_both(self, report):
        files = report(en_ja=10, ja_en=9)
        text = files["report.md"].decode()
        assert f"by greedy search: en-ja: {self.MEAN}" in text
        assert f"; ja-en: {self.BEST}" in text
        assert b"(mean of 5 evaluations)" in files["figures/output-size-kftt-en-ja.svg"]
        assert b"(best checkpoint)" in files["figures/output-size-kftt-ja-en.svg"]


class TestWrite:
    def test_leaves_exactly_its_files(self, results, files, tmp_path):
        paths = write_report(results, tmp_path / "new" / "report")
        written = {path.relative_to(tmp_path / "new" / "report").as_posix() for path in paths}
        assert written == set(files)
        assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)
        for path in paths:
            assert path.read_bytes() == files[path.relative_to(tmp_path / "new" / "report").as_posix()]

    def test_leaves_nothing_if_it_fails(self, results, tmp_path, monkeypatch):
        monkeypatch.setattr(page, "render", lambda blocks: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_report(results, tmp_path / "report")
        assert list(tmp_path.iterdir()) == []

    def test_two_figures_of_one_name(self):
        blocks = [Heading(2, "x"), Paragraph("y"), *[Picture("a-b", "title", b"<svg ></svg>", b"")] * 2]
        with pytest.raises(ValueError, match="a-b: two figures have this name; call one of the corpora otherwise"):
            render(blocks)

"""A strict reader of our own pages, which knows what a browser would forgive."""

from html.parser import HTMLParser

VOID = {"input", "meta", "br", "wbr"}
POINTERS = ("for", "aria-labelledby")


class Reader(HTMLParser):
    """Checks that tags are balanced; keeps elements, texts and tables."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.tables = [], [], {}
        self.scripts, self.text = [], ""
        self._rows, self._caption = None, None
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        elif tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"
        if tag == "table":
            self.tables.setdefault(self._caption, []).append(self._rows)
            self._rows = None

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open and "title" not in self.open:
            self.text += data
        if self.open and self.open[-1] == "caption":
            self._caption += data
        elif self._rows and self._rows[-1] and "title" not in self.open:
            self._rows[-1][-1] += data

    def attributes(self, name):
        """All values of an attribute."""
        return [attrs[name] for _, attrs in self.elements if name in attrs]

    def table(self, caption):
        """The only table of this caption, a list of rows of cells."""
        (found,) = self.tables[caption]
        return [[cell.strip() for cell in row] for row in found]

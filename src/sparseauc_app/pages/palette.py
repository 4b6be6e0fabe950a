"""The colours of a page, by day and by night."""

from sparseauc.plotting import BACKGROUND, COLOURS, PALE, QUIET, TEXT

# The style sheet's colours by day and by night: the same hues, lighter, since on a dark page the
# colours of a white one are too dim to follow. Text stands out by a contrast of 4.5 or more.
_BY_NIGHT = ("#4a9fe0", "#f08040", "#2dbf94", "#e294c2", "#9bdcff", "#f5bd3d", "#e4e2dc")
# For figures of more than seven series.
_MORE = (
    ("#7b3fa0", "#b98bdb"), ("#8f6a1a", "#cfae62"), ("#b0182b", "#ee7b88"), ("#6a8f1f", "#b3d66b"),
    ("#8a8d91", "#b9bcc0"),
)  # fmt: skip
_SERIES = [*zip(COLOURS, _BY_NIGHT, strict=True), *_MORE]
N_COLOURS = len(_SERIES)
_THEMES = {
    **{f"series-{i}": pair for i, pair in enumerate(_SERIES)},
    "background": (BACKGROUND, "#15181c"),
    "surface": ("#f6f5f1", "#1d2126"),
    "text": (TEXT, "#e4e2dc"),
    "quiet": (QUIET, "#a3a8ae"),
    "pale": (PALE, "#4b5158"),
    "rule": ("#d9d7d0", "#373c43"),
    "grid": ("#e9e7e1", "#2a2f35"),
    "link": ("#0b5a8f", "#7fbdec"),
    "accent": ("#0b5a8f", "#7fbdec"),
    "caution": ("#8a4300", "#f0b070"),
    "caution-surface": ("#fdf3e7", "#2b2118"),
    "finding": ("#0f6146", "#74d0ab"),
    "finding-surface": ("#ecf6f1", "#16261f"),
}
LIGHT = {name: colours[0] for name, colours in _THEMES.items()}
DARK = {name: colours[1] for name, colours in _THEMES.items()}

"""What a person would see of a widget, and press: reads the widget tree, needs no browser."""

from collections.abc import Iterator

import ipywidgets as w


def visible(widget: w.Widget) -> Iterator[w.Widget]:
    """The widget and all below it that are not hidden."""
    if widget.layout.display == "none":
        return
    yield widget
    for child in getattr(widget, "children", ()):
        yield from visible(child)


def html(panel) -> str:
    """All the HTML that is shown, without the style sheet."""
    parts = [x.value for x in visible(panel.widget) if isinstance(x, w.HTML)]
    return "\n".join(part for part in parts if not part.startswith("<style>"))


def controls(panel) -> list[str]:
    """The names of everything that takes the keyboard, in tab order."""
    kinds = (w.Button, w.Text, w.RadioButtons)
    return [x.description for x in visible(panel.widget) if isinstance(x, kinds)]


def button(panel, name: str) -> w.Button:
    """The visible button of that name."""
    (found,) = (
        x for x in visible(panel.widget) if isinstance(x, w.Button) and x.description == name
    )
    return found

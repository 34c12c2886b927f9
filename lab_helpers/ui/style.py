"""How the lab's HTML looks: one set of colours for light and dark, read from the host's theme.

Each host names its colours differently (JupyterLab, Colab, VS Code), so every colour is a chain
that ends in a plain light one. Tints are mixed with the host's own background, which keeps text
readable on both themes. Untrusted notebooks drop the sheet: the HTML must also read well bare.
"""

from __future__ import annotations

import html

from lab_helpers.agents.shown import PRICES

_BASE = """
.soa{
--soa-fg:var(--jp-ui-font-color1,var(--colab-primary-text-color,var(--vscode-foreground,#1f2328)));
--soa-bg:var(--jp-layout-color1,
var(--colab-primary-surface-color,var(--vscode-editor-background,#fff)));
--soa-muted:color-mix(in srgb,var(--soa-fg) 72%,var(--soa-bg));
--soa-line:color-mix(in srgb,var(--soa-fg) 18%,var(--soa-bg));
--soa-soft:color-mix(in srgb,var(--soa-fg) 5%,var(--soa-bg));
--soa-info:#2166c9;--soa-good:#1a7f37;--soa-bad:#c2352b;--soa-wait:#a86500;
font:14px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--soa-fg)}
.soa *{box-sizing:border-box}
.soa code{font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
background:none!important;color:inherit;padding:0!important}
.soa p{margin:0}
.soa pre{margin:0;overflow-x:auto}
.soa pre,.soa pre code{white-space:pre!important;word-break:normal;overflow-wrap:normal}
.soa-page{overflow-x:auto}
.soa-chip{display:inline-block;padding:0 8px;border-radius:10px;font-size:12px;font-weight:600;
line-height:20px;white-space:nowrap;--hue:var(--soa-muted);border:1px solid var(--hue);
background:color-mix(in srgb,var(--hue) 12%,var(--soa-bg));
color:color-mix(in srgb,var(--hue) 55%,var(--soa-fg))}
.soa-good{--hue:var(--soa-good)!important}.soa-bad{--hue:var(--soa-bad)!important}
.soa-wait{--hue:var(--soa-wait)!important}.soa-info{--hue:var(--soa-info)!important}
.soa-muted{color:var(--soa-muted)}
"""


def page(body: str, *sheets: str) -> str:
    """`body` inside the lab's root element, with the base sheet and those named.

    What is wider than the window scrolls, and dollar signs stay dollar signs.
    """
    return f'{style(*sheets)}<div class="soa soa-page {PRICES}">{body}</div>'


def style(*sheets: str) -> str:
    """A style element with the base sheet and those named."""
    css = "".join(line.strip() for line in "".join((_BASE, *sheets)).splitlines())
    return f"<style>{css}</style>"


def esc(value: object) -> str:
    """Text made safe for HTML, also inside a quoted attribute."""
    return html.escape(str(value), quote=True)


def chip(text: str, tone: str = "") -> str:
    """A small label. `tone` is "good", "bad", "wait", "info" or "" for none."""
    return f'<span class="soa-chip{f" soa-{tone}" if tone else ""}">{esc(text)}</span>'

"""Pages made of templates, which are files of this package."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_TEMPLATES = Environment(
    loader=PackageLoader("docboltz.experiments"),
    autoescape=lambda name: name is not None and name.endswith(".html"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> str:
    """Fill in a template; in HTML, text stays text."""
    return _TEMPLATES.get_template(template).render(values)

"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from dualgap import __version__  # noqa: E402

(HERE / "gallery" / "pages").mkdir(parents=True, exist_ok=True)  # what commands write, see commands.py

project = "dualgap"
author = "The dualgap developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "commands",
    "docstrings",
    "formulas",
    "parameters",
    "pictures",
    "registries",
]
exclude_patterns = ["_build", "gallery"]
highlight_language = "text"
default_role = "literal"

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 90

# Numbers are shown to the digits that every machine agrees on.
doctest_global_setup = """
import warnings
import matplotlib
matplotlib.use("Agg")
warnings.simplefilter("ignore")
"""
doctest_default_flags = __import__("doctest").ELLIPSIS | __import__("doctest").NORMALIZE_WHITESPACE

html_show_search_summary = False  # it would be fetched, which browsers refuse where pages are files
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "dualgap"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["gallery/pages"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00558a", "color-brand-content": "#00558a"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ee", "color-brand-content": "#7cc0ee"},
}

"""The documentation site: python -m sphinx -W -b html docs docs/_build/html.

Besides the pages in this folder, a build makes the API pages, the gallery, the demo's
report and the picture on the landing page (see pages.py). None of these is kept in git.
`-D plot_gallery=0` builds everything but the gallery, in a fraction of the time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import noiseproof

sys.path.insert(0, str(Path(__file__).parent))

import pages

project = "noiseproof"
author = "The noiseproof developers"
copyright = f"2026, {author}"
version = release = noiseproof.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_generated", "results/*.md"]
templates_path = ["_templates"]
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_default_options = {
    "members": True,
    # of the bases, show ours and not those of scikit-learn and Python
    "inherited-members": (
        "BaseEstimator,ClassifierMixin,RegressorMixin,MetaEstimatorMixin,"
        "TransformerMixin,OneToOneFeatureMixin,tuple,dict,Exception"
    ),
}
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "noiseproof"
html_static_path = ["_static", "_generated"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "logo": {
        "text": "noiseproof",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
html_sidebars = {name: [] for name in ("index", "start", "demo", "faq", "glossary")}

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_\w+\.py",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "pages.gallery_look"),
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,  # its table would come from the network
}


def setup(app: Any) -> None:
    """Connect what happens before and during a build."""
    app.connect("config-inited", lambda app, config: pages.make())
    app.connect("autodoc-skip-member", pages.skip_routing)

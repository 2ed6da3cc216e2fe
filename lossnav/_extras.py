"""The extras of the package: what they bring, and what is said where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

_EXTRAS = {  # what is imported: the extra that installs it
    "torch": "torch",
    "pooch": "torch",
    "dask": "cluster",
    "distributed": "cluster",
    "matplotlib": "book",
    "anywidget": "book",
    "ipywidgets": "book",
    "sklearn": "book",
}


def installed(module: str) -> bool:
    """Return whether a module can be found; it is not loaded."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a finder may refuse aloud
        return False


def advice(module: str) -> str:
    """Return how to get a module that is missing."""
    if module not in _EXTRAS:
        return f"{module} is missing: pip install {module}"
    text = f'{module} is missing: pip install "lossnav[{_EXTRAS[module]}]"'
    return text + (", or the build for your device from pytorch.org/get-started/locally" if module == "torch" else "")


def need(module: str) -> None:
    """Raise ModuleNotFoundError with the advice unless a module can be found."""
    if not installed(module):
        raise ModuleNotFoundError(advice(module), name=module)

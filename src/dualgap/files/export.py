"""solution.export: the prediction Xw + b in the words of other programs, by the ending of the file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dualgap.errors import DataError
from dualgap.files.onnx_graph import onnx_graph
from dualgap.files.python_source import python_source
from dualgap.files.sql_query import sql_query
from dualgap.files.store import write_whole
from dualgap.fitting.solution import Solution

WAYS: dict[str, Callable[[Solution, str], bytes | str]] = {
    ".onnx": onnx_graph,
    ".py": python_source,
    ".sql": sql_query,
}


def export(solution: Solution, path: str | Path, table: str = "data") -> Path:
    """Write .onnx, .py or .sql; `table` is what the SQL query reads."""
    target = Path(path)
    if target.suffix not in WAYS:
        raise DataError(f"A model is exported to a file that ends in {', '.join(WAYS)}, not {target.name!r}.")
    if solution.terms.offset is not None:
        raise DataError(
            "An exported prediction is Xw + b alone, and this model adds an offset to it; use "
            "solution.predict(X, offset=…) or `dualgap predict`."
        )
    content = WAYS[target.suffix](solution, table)
    write_whole(target, content if isinstance(content, bytes) else content.encode("utf-8"))
    return target

"""ONNX: score = X·W + b in float64, the columns of X in the order of the metadata's `columns`."""

from __future__ import annotations

import json

import numpy as np

from dualgap.errors import needed
from dualgap.files.exported_terms import intercepts
from dualgap.files.recipes import recipe_fields
from dualgap.fitting.solution import Solution
from dualgap.version import __version__

OPSET = 13  # the first in which MatMul and Add are what they are today
IR_VERSION = 8  # old enough for runtimes of several years ago


def onnx_graph(solution: Solution, table: str = "") -> bytes:
    """The bytes of a model with input X (rows × columns) and output score (rows × classes, or × 1).

    MatMul and Add are used because the ready-made linear operators of ONNX compute in float32.
    """
    needed("onnx", "onnx", "Export to ONNX")
    from onnx import TensorProto, checker, helper, numpy_helper

    weights = np.ascontiguousarray(np.atleast_2d(solution.coef).T)
    p, width = weights.shape
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["X", "W"], ["Xw"]),
            helper.make_node("Add", ["Xw", "b"], ["score"]),
        ],
        "dualgap",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", p])],
        [helper.make_tensor_value_info("score", TensorProto.DOUBLE, ["rows", width])],
        [
            numpy_helper.from_array(weights, "W"),
            numpy_helper.from_array(np.array(intercepts(solution)), "b"),
        ],
    )
    model = helper.make_model(
        graph,
        producer_name="dualgap",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, _metadata(solution))
    checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _metadata(solution: Solution) -> dict[str, str]:
    known = {"objective": solution.terms.words(), "relative_gap": repr(solution.relative_gap)}
    if solution.names is not None:
        known["columns"] = json.dumps(list(solution.names), ensure_ascii=False)
    if solution.classes is not None:
        known["classes"] = json.dumps(solution.classes.tolist(), ensure_ascii=False)
    if solution.recipe is not None:
        known["recipe"] = json.dumps(recipe_fields(solution.recipe), ensure_ascii=False)
    return known

"""ONNX: score = X·W + b in float64; X as it is, or made of the columns that a file has."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dualgap.errors import needed
from dualgap.files.exported_terms import intercepts
from dualgap.files.recipes import recipe_fields
from dualgap.fitting.solution import Solution
from dualgap.tables.recipe import MISSING_LEVEL, Rule
from dualgap.version import __version__

OPSET = 13  # the first in which MatMul and Add are what they are today
LEARNING = "ai.onnx.ml"  # the domain of the operators that turn words into columns
LEARNING_OPSET = 1  # OneHotEncoder has not changed since
MEANS = {"log": ["Exp"], "logit": ["Sigmoid"]}  # by the link
IR_VERSION = 8  # old enough for runtimes of several years ago


def onnx_graph(solution: Solution, table: str = "") -> bytes:
    """The bytes of a model with output score (rows × classes or outputs, or × 1).

    Its input is X (rows × columns), or where the columns are more than numbers one input a column of the
    file: numbers as float64 (NaN where one is missing), words as strings ("" where one is missing), of a date
    its parts as numbers. MatMul and Add are used because the ready-made linear operators of ONNX compute in
    float32. A loss of means has a second output, mean.
    """
    needed("onnx", "onnx", "Export to ONNX")
    from onnx import TensorProto, checker, helper, numpy_helper

    weights = np.ascontiguousarray(np.atleast_2d(solution.coef).T)
    p, width = weights.shape
    parts = Columns()
    if solution.recipe is None or all(_plain(rule) for rule in solution.recipe.rules):
        parts.inputs.append(helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", p]))
        matrix = "X"
    else:
        matrix = parts.joined(solution.recipe.rules)
    means = MEANS.get(solution.terms.loss.link, [])
    outputs = ["score", "mean"] if means else ["score"]
    graph = helper.make_graph(
        [
            *parts.nodes,
            helper.make_node("MatMul", [matrix, "dualgap:W"], ["dualgap:Xw"]),
            helper.make_node("Add", ["dualgap:Xw", "dualgap:b"], ["score"]),
            *(helper.make_node(mean, ["score"], ["mean"]) for mean in means),
        ],
        "dualgap",
        parts.inputs,
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["rows", width]) for name in outputs],
        [
            *parts.constants,
            numpy_helper.from_array(weights, "dualgap:W"),
            numpy_helper.from_array(np.array(intercepts(solution)), "dualgap:b"),
        ],
    )
    model = helper.make_model(
        graph,
        producer_name="dualgap",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(LEARNING, LEARNING_OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, _metadata(solution))
    checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


class Columns:
    """Inputs as a file has its columns, and the nodes that make the matrix of them."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def joined(self, rules: tuple[Rule, ...]) -> str:
        """The name of the matrix."""
        from onnx import helper, numpy_helper

        self.constants.append(numpy_helper.from_array(np.array([0, -1]), "dualgap:flat"))
        blocks = [name for rule in rules for name in self._block(rule)]
        self.nodes.append(helper.make_node("Concat", blocks, ["dualgap:X"], axis=1))
        return "dualgap:X"

    def _block(self, rule: Rule) -> list[str]:
        if rule.part:
            return [self._number(name, None) for name in rule.outputs]
        return [self._words(rule)] if rule.kind == "levels" else [self._number(rule.name, rule.fill)]

    def _number(self, name: str, fill: float | None) -> str:
        from onnx import TensorProto, helper, numpy_helper

        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["rows", 1]))
        if fill is None:
            return name
        own = [f"dualgap:{what} {name}" for what in ("fill", "gaps", "filled")]
        self.constants.append(numpy_helper.from_array(np.array(fill), own[0]))
        self.nodes.append(helper.make_node("IsNaN", [name], [own[1]]))
        self.nodes.append(helper.make_node("Where", [own[1], own[0], name], [own[2]]))
        return own[2]

    def _words(self, rule: Rule) -> str:
        from onnx import TensorProto, helper

        self.inputs.append(helper.make_tensor_value_info(rule.name, TensorProto.STRING, ["rows", 1]))
        levels = ["" if level == MISSING_LEVEL else level for level in rule.levels]
        own = [f"dualgap:{what} {rule.name}" for what in ("levels", "table", "made")]
        self.nodes += [
            helper.make_node(
                "OneHotEncoder", [rule.name], [own[0]], domain=LEARNING, cats_strings=levels, zeros=1
            ),
            helper.make_node("Reshape", [own[0], "dualgap:flat"], [own[1]]),
            helper.make_node("Cast", [own[1]], [own[2]], to=TensorProto.DOUBLE),
        ]
        return own[2]


def _plain(rule: Rule) -> bool:
    return rule.kind == "number" and not rule.part


def takes(solution: Solution) -> str:
    """What the graph wants, in words."""
    recipe = solution.recipe
    if recipe is None or all(_plain(rule) for rule in recipe.rules):
        return "one input, X, of float64: the columns in the order of its metadata"
    words = [rule.name for rule in recipe.rules if rule.kind == "levels" and not rule.part]
    dates = list(dict.fromkeys(rule.name for rule in recipe.rules if rule.part))
    said = "an input of shape (rows, 1) for each column, by its name: strings"
    said += (
        f" for {', '.join(map(repr, words))}, float64 for the others"
        if words
        else " for none, float64 for all"
    )
    return said + (f"; of {', '.join(map(repr, dates))} the parts, each a column" if dates else "")


def _metadata(solution: Solution) -> dict[str, str]:
    known = {"objective": solution.terms.words(), "relative_gap": repr(solution.relative_gap)}
    if solution.names is not None:
        known["columns"] = json.dumps(list(solution.names), ensure_ascii=False)
    if solution.classes is not None:
        known["classes"] = json.dumps(solution.classes.tolist(), ensure_ascii=False)
    if solution.outputs is not None:
        known["outputs"] = json.dumps(list(solution.outputs), ensure_ascii=False)
    if solution.recipe is not None:
        known["recipe"] = json.dumps(recipe_fields(solution.recipe), ensure_ascii=False)
    return known

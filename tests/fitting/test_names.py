from __future__ import annotations

import pytest

from dualgap import losses, penalties
from dualgap.errors import DataError
from dualgap.fitting.names import ELSEWHERE, loss_named, penalty_named


@pytest.mark.parametrize("name", losses.CATALOGUE)
def test_every_loss_has_its_name(name: str) -> None:
    assert type(loss_named(name)) is losses.CATALOGUE[name]


@pytest.mark.parametrize("name", penalties.CATALOGUE)
def test_every_penalty_has_its_name(name: str) -> None:
    assert type(penalty_named(name)) is penalties.CATALOGUE[name]


def test_arguments_and_blanks_are_read() -> None:
    assert loss_named(" quantile( 0.9 ) ") == losses.Quantile(0.9)
    assert penalty_named("elastic_net(1e-2)") == penalties.ElasticNet(0.01)
    assert loss_named("quantile()") == losses.Quantile()


def test_what_str_says_is_read_back() -> None:
    for loss in (losses.Quantile(0.9), losses.Huber(1.35), losses.Hinge()):
        assert loss_named(str(loss)) == loss
    assert penalty_named(str(penalties.Lp(3.0))) == penalties.Lp(3.0)


def test_objects_pass_through() -> None:
    loss, penalty = losses.Huber(2.0), penalties.L1()
    assert loss_named(loss) is loss
    assert penalty_named(penalty) is penalty


@pytest.mark.parametrize(
    ("given", "nearest"),
    [("squard", "squared"), ("Logistic", "logistic"), ("mse", "squared"), ("pinball", "quantile")],
)
def test_a_slip_gets_the_nearest_loss(given: str, nearest: str) -> None:
    with pytest.raises(DataError, match=f"There is no loss '{given}'. Did you mean '{nearest}'"):
        loss_named(given)


@pytest.mark.parametrize(
    ("given", "nearest"),
    [("L1", "l1"), ("elasticnet", "elastic_net"), ("ridge", "l2"), ("lasso", "l1")],
)
def test_a_slip_gets_the_nearest_penalty(given: str, nearest: str) -> None:
    with pytest.raises(DataError, match=f"Did you mean '{nearest}'"):
        penalty_named(given)


def test_hints_lead_to_names_that_exist() -> None:
    known = {"loss": list(losses.CATALOGUE), "penalty": list(penalties.CATALOGUE)}
    assert all(target in known[kind] for (kind, _), target in ELSEWHERE.items())
    assert not any(name in known[kind] for kind, name in ELSEWHERE)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("quantile(a)", "'a' is not a number"),
        ("quantile(0.1,0.2)", "not a number"),
        ("hinge(1)", "takes no argument"),
        ("quantile(2)", "between 0 and 1"),
        ("huber(nan)", "positive finite number"),
        ("", "There is no loss ''"),
        ("quantile(0.9", "There is no loss"),
    ],
)
def test_bad_arguments_are_named(given: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        loss_named(given)
    assert said in str(caught.value)


@pytest.mark.parametrize("given", [3, None, losses.Quantile])
def test_other_things_are_refused(given: object) -> None:
    with pytest.raises(DataError, match="must be a name or a loss object"):
        loss_named(given)  # type: ignore[arg-type]

"""The solver's answers to the cases of ``benchmarks``: those that are known to be right stay, in J and in status."""

import pytest

from benchmarks.cases import CASES
from benchmarks.paths import SAME, agrees, known, measure
from benchmarks.truth import Ground, of_one_parameter, settled, towards

KNOWN = known()


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=[pytest.mark.slow] * case.slow) for case in CASES
     if not case.wrong and case.name != "logistic, breast cancer, one by one"],  # test_graded.py has it
)  # fmt: skip
def test_what_was_right_stays(case):
    answer = measure(case)
    assert agrees(answer, KNOWN[case.name]), (answer, KNOWN[case.name])


def test_every_case_is_known_by_its_own_name():
    assert [case.name for case in CASES] == list(KNOWN)


@pytest.mark.parametrize("name", ["slice, near the barrier", "slice, left of the barrier", "soft corner"])
def test_answers_of_one_parameter_are_those_of_paths_followed_back(name):
    (case,) = (case for case in CASES if case.name == name)
    objective, loss = case.make()
    assert of_one_parameter(loss, objective.gamma, *case.start, (-5, 5)) == pytest.approx(
        KNOWN[name]["action"], abs=SAME
    )


@pytest.mark.parametrize("name", ["bowl, closed form", "rotation of an oval", "convex quartic, 10 parameters"])
def test_answers_are_those_of_ritz(name):
    (case,) = (case for case in CASES if case.name == name)
    objective, loss = case.make()
    ground = Ground(loss, objective.gamma, objective.drift)
    action = settled(ground, case.start, towards(case.start, KNOWN[name]["end"]), 40.0)
    assert action == pytest.approx(KNOWN[name]["action"], abs=SAME)

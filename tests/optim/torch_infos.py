"""Our optimizers as entries of torch's own test matrix, ``torch.testing._internal.common_optimizers``.

An ``OptimizerInfo`` names a class, the inputs to try and the errors to expect. torch's AdamW and SGD go through the
same checks beside ours: a check that they do not pass says nothing about optimizers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import Parameter
from torch.optim import lr_scheduler
from torch.testing._internal.common_optimizers import (
    ErrorOptimizerInput,
    OptimizerInfo,
    OptimizerInput,
    get_error_inputs_for_all_optims,
    optim_db,
)

from lossnav import optim

SCHEDULED = (
    [lambda opt: lr_scheduler.StepLR(opt, gamma=0.9, step_size=10)],
    [lambda opt: lr_scheduler.LinearLR(opt, start_factor=0.4, total_iters=4)],
    [lambda opt: lr_scheduler.CosineAnnealingLR(opt, T_max=30)],
    [
        lambda opt: lr_scheduler.StepLR(opt, gamma=0.9, step_size=10),
        lambda opt: lr_scheduler.ReduceLROnPlateau(opt),
    ],
)


def _inputs(**kinds: dict[str, Any]) -> Callable[..., list[OptimizerInput]]:
    """Return what makes the inputs: the default, and each kind by its name."""

    def make(device: Any = "cpu", dtype: Any = None) -> list[OptimizerInput]:
        return [OptimizerInput(None, dict(kind), desc.replace("_", " ")) for desc, kind in kinds.items()]

    return make


def _errors(*bad: tuple[dict[str, Any], str]) -> Callable[..., list[ErrorOptimizerInput]]:
    """Return what makes the inputs that must be refused: torch's for all optimizers, and of a rule what more than one
    option decides; what one does is in the table of the contract, and so are sparse gradients and complex parameters.
    """

    def make(device: Any = "cpu", dtype: Any = torch.float32) -> list[ErrorOptimizerInput]:
        general = [
            entry
            for entry in get_error_inputs_for_all_optims(device, dtype)
            if entry.optimizer_error_input.desc != "Tensor lr must be 1-element"  # refused in our own words
        ]
        general += [
            ErrorOptimizerInput(OptimizerInput(None, kwargs, regex), error_type=ValueError, error_regex=regex)
            for kwargs, regex in bad
        ]
        for group, regex in (
            ({"capturable": True}, "capturable = True, but it must be False"),
            ({"differentiable": True}, "differentiable = True, but it must be False"),
        ):
            params = [{"params": [Parameter(torch.randn(1, 1))], **group}]
            general.append(
                ErrorOptimizerInput(OptimizerInput(params, {}, regex), error_type=ValueError, error_regex=regex)
            )
        return general

    return make


def _info(cls: Any, inputs: Any, errors: Any, impls: tuple[str, ...], **more: Any) -> OptimizerInfo:
    return OptimizerInfo(
        cls, optim_inputs_func=inputs, optim_error_inputs_func=errors, scheduler_inputs=SCHEDULED,
        supported_impls=impls, supports_fused_on=("cpu",) if "fused" in impls else (), supports_complex=False,
        not_og_supported_flags=("maximize", *impls), **more,
    )  # fmt: skip


BOTH = ("foreach", "fused")
OURS = [
    _info(
        optim.Ballistic,
        _inputs(
            default={}, rate={"lr": 0.01}, decay={"weight_decay": 0.1},
            all={"lr": 0.01, "beta": 0.9, "weight_decay": 0.1, "bias_correction": True, "momentum": 0.8},
            maximize={"weight_decay": 0.1, "maximize": True},
        ),
        _errors(),
        BOTH,
    ),
    _info(
        optim.BallisticMatrix,
        _inputs(
            default={}, rate={"lr": 0.01}, decay={"weight_decay": 0.1}, discounted={"discount": 0.1},
            product={"curvature": "kronecker", "every": 3}, whitened={"curvature": "likelihood", "every": 3},
            polar={"curvature": "polar"}, blocks={"block": 4, "every": 3},
            maximize={"weight_decay": 0.1, "maximize": True},
        ),
        _errors(({"root": "iterated", "discount": 0.1},
                 "root = 'iterated', but it must be 'auto' or 'exact' where eps")),
        ("foreach",),
    ),
    _info(
        optim.Belief,
        _inputs(
            default={}, rate={"lr": 0.01}, decay={"weight_decay": 0.1}, sgd={"lr": 1e-3, "discount": math.inf},
            discounted={"discount": 0.1, "weight_decay": 0.1}, capped={"lr_overdamped": 1e-2},
            newton={"curvature_scale": 2.0, "eps_inside": 1e-4}, innovation={"variance": "innovation"},
            maximize={"weight_decay": 0.1, "maximize": True},
        ),
        _errors(({"betas": (1.0, 0.0)}, r"betas\[0\] = 1.0"),
                ({"lr": math.inf}, "lr = inf, but it must be finite where lr_overdamped is inf"),
                ({"lr": math.inf, "lr_overdamped": math.inf}, "lr = inf, but it must be finite where lr_overdamped"),
                ({"betas": (0.0, 0.9), "variance": "centred"},
                 r"betas\[0\] = 0, but it must be > 0 where variance is 'centred'"),
                ({"discount": 1.0, "lr_overdamped": 1.0}, "discount = 1.0, but it must be None where lr_overdamped")),
        BOTH,
    ),
    _info(
        optim.Navigator,
        _inputs(
            default={}, rate={"lr": 0.01}, decay={"weight_decay": 0.1}, discounted={"gamma": 3.0, "eta_k": 2.0},
            descent={"gamma": math.inf}, maximize={"weight_decay": 0.1, "maximize": True},
        ),
        _errors(({"curvature": "fisher"},
                 "curvature = 'fisher', but it must be one of 'second_moment', 'hutchinson'")),
        BOTH,
    ),
    _info(
        optim.Uncertain,
        _inputs(
            default={}, rate={"lr": 0.01}, wide={"prior_variance": 10.0},
            all={"lr": 0.01, "forgetting": 0.02, "temperature": 0.3, "prior_mean": 0.2, "speed": 2.0},
            resets={"reset": (0.2, 5.0, 2.0), "seed": 3}, maximize={"maximize": True},
        ),
        _errors(),
        ("foreach",),
    ),
]  # fmt: skip

CONTROLS = [info for info in optim_db if info.name in ("AdamW", "SGD")]
assert len(CONTROLS) == 2

NOT_PORTED = {
    "test_forloop_goes_right_direction_multigpu, test_mixed_device_dtype (its devices), test_cpu_load_state_dict, "
    "test_state_dict_with_cuda_params, TestCudaOptims": "a second device: there is none here",
    "test_peak_memory_foreach": "reads CUDA's allocator",
    "test_foreach_large_tensor, test_fused_large_tensor": "2³² elements: 16 GB and more; the kernels count in int64",
    "test_complex, test_complex_2d": "complex parameters are refused by name (the contract)",
    "metadata_for_sparse, SparseAdam": "sparse gradients are refused by name (the contract)",
    "TestDifferentiableOptimizer, has_capturable_arg": "no such flags: refused in a group (test_errors), unknown "
    "to the signatures",
    "test_less_mem_beta1_zero_adafactor, LBFGS's closures, Muon's matrices": "of these optimizers alone",
    "CompiledOptimizerParityTests": "test_optim_contract.test_the_step_compiles",
    "test_forloop_goes_right_direction_with_lrsched, test_param_group_with_lrscheduler, test_step_is_noop_*, "
    "test_can_load_older_state_dict, test_save_load_equality_with_weights_only, test_deepcopy_*, test_non_empty_state, "
    "test_param_groups_lr": "test_optim_contract.py asks this of every row of its table",
    "test_optimizer_can_be_printed, test_*_zero_grad_*, test_*_profile_*, test_state_dict_*_hook": "of torch's class",
    "test_lrscheduler.py, test_swa_utils.py": "of the schedulers, which test_schedulers.py sets on each optimizer of "
    "ours; averaging does not look at the optimizer",
    "test_tensor_lr with num_dim 1 and 2, Tensor betas": "a tensor rate has no dimensions here: refused by name",
}
"""Tests of torch's ``test_optim.py`` that have no counterpart in test_torch_matrix.py, and why."""

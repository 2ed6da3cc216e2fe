"""The optimizers again, one tensor at a time and line by line as in the paper: slow, plain, the yardstick."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lossnav.optim import belief, navigator, uncertain
from lossnav.optim._base import Group, Rule, State
from lossnav.optim.ballistic import Ballistic


def ballistic(theta: Tensor, v: Tensor, g: Tensor, *, lr: float, beta: float, eps: float) -> tuple[Tensor, Tensor]:
    """Return (θ, v) after one step of the ballistic rule, Eq. 33 to the letter.

        v ← β v + (1 − β) g²
        θ ← θ − lr · g / √(v + ε)

    Args:
        theta: parameters θ, any shape.
        v: running second moment of the gradient, the same shape; zero before the first step.
        g: gradient at θ, the same shape.
        lr: learning rate. beta: weight of the past in v. eps: ε, inside the root.

    Returns:
        The new θ and v; the arguments are left alone.

    References:
        Vastola, Gershman, Rajan (2025), Eq. 33.
    """
    v = beta * v + (1 - beta) * g**2
    theta = theta - lr * g / (v + eps).sqrt()
    return theta, v


class _Plain(Rule):
    """A rule that no kernel does."""

    _call = Rule._call


class BallisticReference(_Plain, Ballistic):
    """``Ballistic`` with all its options, spelled out for one tensor at a time; same arguments, same results."""

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        lr, beta, beta1 = group["lr"], group["beta"], group["momentum"]
        uphill = -1.0 if group["maximize"] else 1.0
        for theta, g, state in zip(params, grads, states, strict=True):
            state["step"] += 1
            n = state["step"].item()
            v = state["v"] = beta * state["v"] + (1 - beta) * g**2
            m = g
            if beta1 is not None:
                m = state["m"] = beta1 * state["m"] + (1 - beta1) * g
            if group["bias_correction"]:
                v = v / (1 - beta**n)
                m = m if beta1 is None else m / (1 - beta1**n)
            decayed = (1 - lr * group["weight_decay"]) * theta
            theta.copy_(decayed - uphill * lr * m / (v + group["eps"]).sqrt())


class BeliefReference(_Plain, belief.Belief):
    """``Belief`` with all its options, spelled out for one tensor at a time; same arguments, same results."""

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        lr, lr_s, epsilon, c = float(group["lr"]), group["lr_overdamped"], group["discount"], group["curvature_scale"]
        beta1, beta2 = group["betas"]
        rate = 0.0 if lr_s == 0 else lr
        uphill = -1.0 if group["maximize"] else 1.0
        for theta, g, state in zip(params, grads, states, strict=True):
            state["step"] += 1
            n = state["step"].item()
            before = state["m"]
            m = state["m"] = beta1 * before + (1 - beta1) * g
            if group["variance"] == "uncentred" or (group["variance"] == "innovation" and n == 1):
                q = g**2
            elif group["variance"] == "centred":
                q = (g - m) ** 2
            else:
                f = (1 - beta1) / (1 + beta1) * (1 + beta1 ** (n - 1)) / (1 - beta1 ** (n - 1))
                q = (g - before / (1 - beta1 ** (n - 1))) ** 2 / (1 + f)
            v = state["v"] = beta2 * state["v"] + (1 - beta2) * q
            if group["bias_correction"]:
                m, v = m / (1 - beta1**n), v / (1 - beta2**n)
            v = v + group["eps_inside"]
            if lr == 0 or lr_s == 0:
                s = torch.zeros_like(v)
            elif epsilon == math.inf:
                s = torch.full_like(v, lr)
            elif epsilon is not None:
                s = lr / ((v + epsilon**2).sqrt() + epsilon)
            elif math.isinf(lr_s):
                s = lr / (v.sqrt() + group["eps"])
            else:
                s = 2 * lr_s / (1 + (1 + 4 * v * (lr_s / lr) ** 2).sqrt())
            x = s * c * v
            s = torch.where(x == 0, s, s * -torch.expm1(-x) / x)
            theta.copy_((1 - rate * group["weight_decay"]) * theta - uphill * s * m)


class NavigatorReference(_Plain, navigator.Navigator):
    """``Navigator(curvature="second_moment")``, Eq. 6 in the stable form of the theory, one tensor at a time."""

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        dt, gamma, eta_k, beta = float(group["lr"]), group["gamma"], group["eta_k"], group["beta"]
        uphill = -1.0 if group["maximize"] else 1.0
        for theta, g, state in zip(params, grads, states, strict=True):
            state["step"] += 1
            state["h"] = beta * state["h"] + (1 - beta) * g**2
            h = group["curvature_scale"] * state["h"] / (1 - beta ** state["step"].item()) + group["eps"]
            if math.isinf(gamma):
                s, x = eta_k * dt, eta_k * dt * h
            else:
                fast = (gamma**2 / 4 + eta_k * h).sqrt() + gamma / 2
                s, x = eta_k * dt / fast, eta_k * h / fast * dt
            step = torch.where(x == 0, 1.0, -torch.expm1(-x) / x) * s * g
            theta.copy_((1 - dt * group["weight_decay"]) * theta - uphill * step)


class UncertainReference(_Plain, uncertain.Uncertain):
    """``Uncertain`` on its means (no sampling), spelled out for one tensor at a time; same arguments, same results."""

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        lr, temperature = float(group["lr"]), group["temperature"]
        rho = lr if group["forgetting"] is None else group["forgetting"]
        uphill = -1.0 if group["maximize"] else 1.0
        for mu, g, state in zip(params, grads, states, strict=True):
            state["step"] += 1
            if group["reset"] is not None:
                state["age"] += 1
            mean, variance = state["prior_mean"], state["prior_variance"]
            h = group["curvature_scale"] * g**2
            p = math.exp(-rho) * state["precision"] - math.expm1(-rho) * (h / temperature + 1 / variance)
            step = -lr * (uphill * g + temperature * (mu - mean) / variance) / (temperature * p)
            if group["clip"] is not None:
                step = torch.clamp(step, -group["clip"] / p.sqrt(), group["clip"] / p.sqrt())
            mu.add_(step)
            if group["speed"] != 0:
                state["drift"] = group["speed_beta"] * state["drift"] + (1 - group["speed_beta"]) * step
                p = 1 / (1 / p + group["speed"] * state["drift"] ** 2).clamp(max=variance)
            state["precision"] = p
            if group["reset"] is not None:
                uncertain.reset_idle(mu, state, group)

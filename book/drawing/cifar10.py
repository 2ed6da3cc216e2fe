"""Figures of the chapter on CIFAR-10."""

import math

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from lossnav.figures import COLOURS, LINES, letter, title
from lossnav.figures import line as style
from lossnav.lab.registry import RULES

_NAMES = {name: rule.label for name, rule in RULES.items()} | {"cnn": "CNN", "resnet": "ResNet", "vit": "ViT"}
_NETWORKS = {"cnn": ("o", -0.18), "resnet": ("s", 0.0), "vit": ("D", 0.18)}  # marker, place in a row


def curves(*, record):
    """Draw training loss and test accuracy by epoch: the mean over seeds, and a band from the worst to the best."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.3))
    for rule in _ordered(run["rule"] for run in record.results):
        runs = [run for run in record.results if run["rule"] == rule]
        _band(left, rule, np.array([run["train_loss"] for run in runs]))
        _band(right, rule, 100 * np.array([run["test_accuracy"] for run in runs]))
    left.set(xlabel="epoch", ylabel="training loss")
    right.set(xlabel="epoch", ylabel="test accuracy (%)")
    for ax in (left, right):
        ax.grid(axis="y")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(left=0.5)
    letter((left, right), ("training", "test"))
    title(figure, record.data["label"], record.seeds)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def race(*, runs, data, window=5):
    """Draw the loss of the batches as a short training goes on, and the test accuracy that it ends with."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.8, 3.1), width_ratios=(1.6, 1.0))
    for place, (rule, histories) in enumerate(runs.items()):
        losses = np.mean([history.step_loss for history in histories], axis=0)
        count = len(losses) // window
        means = losses[: count * window].reshape(count, window).mean(axis=1)
        left.plot((np.arange(count) + 0.5) * window, means, label=_NAMES[rule], **style(rule, lw=2.0))
        _dots(right, rule, place, 100 * np.array([history.test_accuracy[-1] for history in histories]))
    left.set(xlabel="step", ylabel="loss of the batch")
    left.grid(axis="y")
    right.set_xticks(range(len(runs)), [_NAMES[rule] for rule in runs])
    right.set(ylabel="test accuracy (%)", xlim=(-0.6, len(runs) - 0.4))
    right.grid(axis="y")
    letter((left, right), ("training", "at the end"))
    title(figure, data, next(iter(runs.values())))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(runs))
    return figure


def gains(*, gammas, ballistic, sgd, roots, eps):
    """Draw the length of the step in units of the gradient against √v, and how √v is distributed in a network."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True, height_ratios=(1.5, 1.0))
    root = np.geomspace(1e-6, 1.0, 241)
    for gamma in gammas:
        gain = np.full_like(root, sgd)
        if math.isfinite(gamma):
            gain = (ballistic + gamma * sgd) / (gamma / 2 + np.sqrt(gamma**2 / 4 + root**2 + eps))
        above.plot(root, gain, **_discount_line(gamma, gammas), label=_discount(gamma))
    above.set(xscale="log", yscale="log", ylabel=r"step / |$g$|")
    bins = np.linspace(-6, 0, 73)
    looks = ({"color": COLOURS["loss"], "ls": "--"}, {"color": COLOURS["ink"]})
    for look, (name, values) in zip(looks, roots.items(), strict=False):
        flat = np.asarray(values, dtype=np.float64).ravel()
        with np.errstate(divide="ignore"):
            counts, _ = np.histogram(np.log10(flat), bins)
        below.stairs(100 * counts / len(flat), 10**bins, lw=1.8, label=f"{name} ({_none(flat)})", **look)
    below.axvline(math.sqrt(eps), color=COLOURS["quiet"], lw=0.8, ls=":")
    below.set(xlabel=r"$\sqrt{v}$", ylabel="weights (%)", xscale="log")
    for ax in (above, below):
        ax.grid(axis="y")
    letter((above, below), ("the rule", "the network"))
    below.legend(loc="upper right")
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def discounts(*, records):
    """Draw the test loss of each discount at its best rate, and the held-out loss of each against the rate."""
    figure, axes = plt.subplots(2, len(records), figsize=(5.8, 6.2))
    for (above, below), record in zip(axes.T, records.values(), strict=True):
        ratios = [float(result["ratio"]) for result in record.results]
        ends = np.array([[run["test"] for run in result["runs"]] for result in record.results])
        above.plot(range(len(ratios)), ends, color=COLOURS["quiet"], lw=0.6, zorder=0)
        for place, (ratio, result) in enumerate(zip(ratios, record.results, strict=True)):
            _dots(above, {0.0: "adam", math.inf: "sgd"}.get(ratio, "navigator"), place, ends[place])
            rates, losses = zip(*result["tuning"], strict=True)
            below.plot(rates, losses, **_discount_line(ratio, ratios, "adam"), label=_tick(ratio))
        near = ends[ends < 2 * np.median(ends)]  # a run that failed would hide all others
        above.set(xlabel=r"discount $\varepsilon/\sqrt{V}$", ylim=near.min() + np.array([-0.08, 1.08]) * np.ptp(near))
        above.set_xticks(range(len(ratios)), [_tick(ratio) for ratio in ratios], rotation=60)
        lowest = min(min(loss for _, loss in result["tuning"]) for result in record.results)
        below.set(xscale="log", xlabel="rate", ylim=(0.97 * lowest, 1.75 * lowest))
        for ax in (above, below):
            ax.grid(axis="y")
    axes[0, 0].set_ylabel("test loss")
    axes[1, 0].set_ylabel("held-out loss")
    letter(axes.flat, (*records, "", ""))
    figure.legend(*axes[1, 0].get_legend_handles_labels(), title=r"$\varepsilon/\sqrt{V}$", loc="outside lower center",
                  ncols=4)  # fmt: skip
    return figure


def _band(ax, rule, values):
    """Draw the mean over rows and shade from the lowest to the highest row."""
    epochs = np.arange(1, values.shape[1] + 1)
    marks = {"marker": LINES[rule][1], "ms": 4.5, "mec": "white", "mew": 0.6}
    every = -(-len(epochs) // 15)
    ax.plot(epochs, values.mean(axis=0), label=_NAMES[rule], markevery=every, **style(rule, lw=2.0), **marks)
    ax.fill_between(epochs, values.min(axis=0), values.max(axis=0), color=COLOURS[rule], alpha=0.18, lw=0)


def _dots(ax, rule, place, values):
    """Draw one dot a seed and the rule's marker at their mean; nothing where no run has a value."""
    if len(values):
        ax.plot([place] * len(values), values, ".", color=COLOURS[rule], ms=5, alpha=0.6)
        ax.plot(place, values.mean(), LINES[rule][1], color=COLOURS[rule], ms=8, mec="white", mew=0.6)


def _discount(gamma):
    name = {0.0: "ballistic", math.inf: "SGD"}.get(gamma)
    return f"γ = {_tick(gamma)}" + (f", {name}" if name else "")


def _tick(gamma):
    return "∞" if math.isinf(gamma) else f"{gamma:g}"


def _discount_line(gamma, gammas, first="ballistic"):
    """Return the look of a discount's line: the two rules at the ends, and shades between them."""
    if gamma == 0 or math.isinf(gamma):
        return style(first if gamma == 0 else "sgd", lw=2.4)
    middle = [g for g in gammas if 0 < g < math.inf]
    shade = 0.25 + 0.6 * middle.index(gamma) / max(1, len(middle) - 1)
    return {"color": plt.get_cmap("viridis")(shade), "lw": 1.3}


def _none(values):
    return f"{100 * float(np.mean(values == 0)):.0f} % are 0"


def basins(*, record, rates):
    """Draw test accuracy against the learning rate, a panel for each network."""
    networks = _ordered(run["model"] for run in record.results)
    figure, axes = plt.subplots(1, len(networks), figsize=(5.8, 3.2), sharey=True, squeeze=False)
    for ax, network in zip(axes[0], networks, strict=True):
        for rule in _ordered(run["rule"] for run in record.results):
            runs = [run for run in record.results if (run["model"], run["rule"]) == (network, rule)]
            by_rate = {lr: [_accuracy(run) for run in runs if run["lr"] == lr] for lr in {run["lr"] for run in runs}}
            places = [lr / rates[rule] for lr in sorted(by_rate)]
            means = [float(np.mean(by_rate[lr])) for lr in sorted(by_rate)]
            ax.plot(places, means, **style(rule, marker=True, lw=1.8, ms=5, mec="white", mew=0.6), label=_NAMES[rule])
            for place, lr in zip(places, sorted(by_rate), strict=True):
                ax.plot([place] * len(by_rate[lr]), by_rate[lr], ".", color=COLOURS[rule], ms=3, alpha=0.6)
        ax.axvline(1.0, color=COLOURS["quiet"], lw=0.8, ls=":", zorder=0)
        ax.set_xscale("log")
        ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        ax.minorticks_off()
        ax.grid(axis="y")
    axes[0, 0].set_ylabel("test accuracy (%)")
    axes[0, len(networks) // 2].set_xlabel("rate / the paper's rate")
    letter(axes[0], [_NAMES[network] for network in networks])
    title(figure, record.data["label"], record.seeds)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def choices(*, accuracies, tells):
    """Draw the accuracy at a rate that was given beside that at a rate that was chosen, a panel for each network."""
    figure, axes = plt.subplots(1, len(accuracies), figsize=(5.8, 3.0), sharey=True, squeeze=False)
    for ax, (network, by_rule) in zip(axes[0], accuracies.items(), strict=True):
        for place, (rule, pair) in enumerate(by_rule.items()):
            seeds = [np.asarray(pair[kind]) for kind in ("given", "chosen")]
            means = [float(values.mean()) for values in seeds]
            ax.plot([place - 0.16, place + 0.16], means, color=COLOURS[rule], lw=1.2)
            for x, values, mean, inside in zip((-0.16, 0.16), seeds, means, ("white", COLOURS[rule]), strict=True):
                ax.plot([place + x] * len(values), values, ".", color=COLOURS[rule], ms=4, alpha=0.6)
                ax.plot(place + x, mean, LINES[rule][1], color=COLOURS[rule], ms=7, mfc=inside)
        lowest = min(float(np.min(values)) for pair in by_rule.values() for values in pair.values())
        ax.errorbar(-0.7, lowest + tells[network] / 2, yerr=tells[network] / 2, color=COLOURS["ink"], capsize=3, lw=1.2)
        ax.set_xticks(range(len(by_rule)), [_NAMES[rule] for rule in by_rule], rotation=30)
        ax.set_xlim(-1.0, len(by_rule) - 0.5)
        ax.grid(axis="y")
    axes[0, 0].set_ylabel("test accuracy (%)")
    letter(axes[0], [_NAMES[network] for network in accuracies])
    return figure


def lengths(*, ratios, found):
    """Draw the ratio of two rules' step lengths along the first steps of training, a line for each network."""
    figure, ax = plt.subplots(figsize=(5.8, 3.2))
    end = max(len(np.asarray(values)) for values in ratios.values())
    for network in _ordered(ratios):
        values, (mark, shift) = np.asarray(ratios[network], dtype=np.float64), _NETWORKS[network]
        steps = np.arange(1, len(values) + 1)
        look = {"color": COLOURS["ink"], "marker": mark, "mec": "white", "mew": 0.6}
        ax.plot(steps, values, lw=1.4, ms=5, markevery=5, label=_NAMES[network], **look)
        if network in found:
            ax.plot(end * (1.08 + 0.15 * shift), found[network], ms=8, ls="none", **look)
    ax.axvline(end * 1.03, color=COLOURS["quiet"], lw=0.8, ls=":")
    ax.set(yscale="log", xlabel="step", ylabel="ratio", xlim=(0, end * 1.13))
    ax.grid(axis="y")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def transfer(*, costs):
    """Draw what a borrowed learning rate costs, a row for each way to borrow it and a mark for each network."""
    figure, ax = plt.subplots(figsize=(5.8, 0.42 * len(costs) + 1.3))
    for place, by_network in enumerate(costs.values()):
        ax.axhline(place, color=COLOURS["grid"], lw=0.8, zorder=0)
        for network, cost in by_network.items():
            mark, shift = _NETWORKS[network]
            ax.plot(cost, place + shift, mark, color=COLOURS["ink"], ms=6, mec="white", mew=0.6, label=_NAMES[network])
    ax.axvline(0.0, color=COLOURS["quiet"], lw=1.0)
    ax.set_yticks(range(len(costs)), list(costs))
    ax.set_ylim(len(costs) - 0.5, -0.5)
    ax.set_xlabel("accuracy lost (points)")
    handles, names = ax.get_legend_handles_labels()
    by_name = dict(zip(names, handles, strict=True))
    shown = [_NAMES[network] for network in _NETWORKS if _NAMES[network] in by_name]
    figure.legend([by_name[name] for name in shown], shown, loc="outside lower center", ncols=3)
    return figure


def _accuracy(run):
    """Return the last test accuracy in per cent; a run that diverged before its first test guesses."""
    return 100 * (run["test_accuracy"] or [0.1])[-1]


def _ordered(names):
    """Return names once each, in the book's order."""
    return sorted(set(names), key=list(_NAMES).index)

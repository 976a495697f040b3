"""Trains a network on rendered lessons: on an NVIDIA GPU if there is one, otherwise on the CPU."""

from __future__ import annotations

import copy
import multiprocessing
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import torch
from msgspec import Struct
from torch import distributed
from torch.nn import functional

from calibration.training.network import RANK_OUTPUTS, export, network
from calibration.training.patches import NO_INDEX, Lessons, load, restored
from drivers.camera.recognition.recogniser import PATCH_SIZE_PX
from shoe_daemon.errors import UserError

_BATCH_SIZE: Final = 128
"""Patches per batch, of all processes together."""
_RATES: Final = (2.5e-3, 1e-3)
"""
Highest learning rate of each cycle. The second has half as many patches as the first. The mean of
the weights at both ends accepts more cards within the limits than either.
"""
_SMOOTHING: Final = 0.005
_SUIT_WEIGHT: Final = 1.5
"""Weight of a wrong suit relative to a wrong rank: small clubs and spades look alike."""
_SHARD_CHECK_BATCHES: Final = 50
"""Batches between checks for new shards."""
_SAY: Final = 100
_REPORT_BATCHES: Final = 1000
"""Batches between progress reports, which include unseen cards."""


class Plan(Struct, frozen=True, kw_only=True):
    """
    Duration of training, and number of processes.

    Attributes:
        samples: Patches of the first cycle; the second has half as many.
        seed: Of the first weights and of the order of the patches.
        workers: Processes, if there is no GPU.
    """

    samples: int
    seed: int
    workers: int

    @property
    def steps(self) -> tuple[int, ...]:
        """Batches of each cycle."""
        first = self.samples // _BATCH_SIZE
        return first, first // 2


class _Part(Struct, frozen=True, kw_only=True):
    """
    A process's share of each batch, and where it computes.

    Attributes:
        number: Of the process; the first one reports.
        of: Number of processes.
        device: Where it computes, as torch names it.
        half: Whether it computes with floats of 16 bits.
    """

    number: int = 0
    of: int = 1
    device: str = "cpu"
    half: bool = False


def train(folder: Path, weights: Path, plan: Plan) -> None:
    """
    Train on the shards of a folder, and write the weights.

    New shards are included as they appear, so that rendering and training may run in parallel.
    Progress is printed, now and then with the share of unseen cards that is read rightly.

    Raises:
        UserError: A worker failed.
    """
    if torch.cuda.is_available():
        click.echo(f"training on {torch.cuda.get_device_name()}")
        _learn(folder, weights, plan, _Part(device="cuda"))
        return
    (folder / "meeting").unlink(missing_ok=True)  # left by an interrupted run
    workers = [
        multiprocessing.get_context("spawn").Process(target=work, args=(folder, weights, plan, n))
        for n in range(plan.workers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise UserError("training: a worker failed; its error is above")


def work(folder: Path, weights: Path, plan: Plan, number: int) -> None:
    """Run one process: train on its share of each batch, and share gradients after it."""
    torch.set_num_threads(1)
    half = _is_half_quicker()
    if number == 0:
        click.echo(f"numbers of {16 if half else 32} bits: quicker on this processor")
    meeting = f"file://{(folder / 'meeting').resolve()}"
    distributed.init_process_group(
        "gloo", init_method=meeting, rank=number, world_size=plan.workers
    )
    _learn(folder, weights, plan, _Part(number=number, of=plan.workers, half=half))
    distributed.destroy_process_group()


def _learn(folder: Path, weights: Path, plan: Plan, part: _Part) -> None:
    """Train; the first process reports and writes the weights."""
    torch.manual_seed(plan.seed)
    net = network().to(part.device, memory_format=torch.channels_last)
    began, steps = time.monotonic(), sum(plan.steps)
    for done, loss in enumerate(_losses(net, folder / "lessons", plan, part), 1):
        if part.number == 0 and done % _SAY == 0:
            minutes = (time.monotonic() - began) / 60
            left = minutes / done * (steps - done)
            click.echo(f"{done}/{steps} loss {loss:.3f} {left:.0f} min left")
        if part.number == 0 and done % _REPORT_BATCHES == 0:
            _report(_copy_of(net), folder)
    if part.number == 0:
        trained = _copy_of(net)
        _report(trained, folder)
        unfinished = weights.with_suffix(".part")
        export(trained, unfinished)
        unfinished.rename(weights)


def _copy_of(net: Any) -> Any:  # noqa: ANN401 - torch is an extra, without types here
    """Return a copy, on the processor, of a network that learns."""
    copied = network()
    copied.load_state_dict(net.state_dict())
    return copied


def _report(net: Any, folder: Path) -> None:  # noqa: ANN401 - as above
    """Print how the network reads cards that are not taught."""
    click.echo(_watched(net, load(folder / "watched" / "000.npy")))


def _losses(net: Any, lessons: Path, plan: Plan, part: _Part) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Train, and yield the loss of each batch; in the end average the weights of the cycles."""
    net.train()
    on_gpu = part.device == "cuda"
    if on_gpu:  # starting its many short kernels one by one would take longer than they do
        net = torch.cuda.make_graphed_callables(net, (_example(part),))
    ends: list[dict[str, Any]] = []
    batches = _batches(lessons, plan, part)
    for rate, steps in zip(_RATES, plan.steps, strict=True):
        optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=1e-3, fused=on_gpu)
        pace = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, rate, total_steps=steps, pct_start=0.1
        )
        for images, answers in islice(batches, steps):
            loss = _loss(net, images, answers, half=part.half)
            optimiser.zero_grad()
            loss.backward()
            if part.of > 1:
                _share(net, part.of)
            optimiser.step()
            pace.step()
            yield loss.detach()
        ends.append(copy.deepcopy(net.state_dict()))
    net.load_state_dict({name: _mean([end[name] for end in ends]) for name in ends[0]})


def _mean(tensors: list[Any]) -> Any:  # noqa: ANN401 - as above
    return torch.stack(tensors).mean(0) if tensors[0].is_floating_point() else tensors[-1]


def _is_half_quicker() -> bool:
    """
    Return whether 16-bit floats are faster on this processor.

    With hardware support they take half the time, without it ten times as long; the weights are
    equally good.
    """
    net = network().to(memory_format=torch.channels_last)
    images, answers = _example(_Part()), torch.ones(_BATCH_SIZE, 3)
    took = {}
    for half in (True, False, True, False):  # the first run of each is a warm-up
        began = time.process_time()
        _loss(net, images, answers, half=half).backward()
        took[half] = time.process_time() - began
    return took[True] < took[False]


def _example(part: _Part) -> Any:  # noqa: ANN401 - as above
    """Return images of a batch's size."""
    images = torch.rand(_BATCH_SIZE // part.of, 3, PATCH_SIZE_PX[1], PATCH_SIZE_PX[0])
    return images.to(part.device, memory_format=torch.channels_last)


def _share(net: Any, workers: int) -> None:  # noqa: ANN401 - torch is an extra, without types here
    """Give every worker the mean of all workers' gradients."""
    gradients = [weight.grad for weight in net.parameters()]
    flat: Any = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    parts = (flat / workers).split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def _batches(folder: Path, plan: Plan, part: _Part) -> Iterator[tuple[Any, Any]]:
    """Yield a process's share of all batches."""
    chance = np.random.default_rng([plan.seed, part.number])
    shards: list[Lessons] = []
    known: set[Path] = set()
    for step in range(sum(plan.steps)):
        if step % _SHARD_CHECK_BATCHES == 0:
            new = sorted(set(folder.glob("*.npy")) - known)
            shards.extend(load(path) for path in new)
            known.update(new)
        yield _batch(chance, shards, part)


def _batch(chance: np.random.Generator, shards: list[Lessons], part: _Part) -> tuple[Any, Any]:
    """Draw random patches, with random changes of light, colour and position."""
    size, count = len(shards[0].images), _BATCH_SIZE // part.of
    which = np.sort(chance.integers(len(shards) * size, size=count))
    images = np.stack([shards[n // size].images[n % size] for n in which])
    answers = np.stack([shards[n // size].answers[n % size] for n in which])
    light = chance.uniform(0.9, 1.1, (count, 3, 1, 1)).astype(np.float32)
    offset = chance.normal(0, 0.06, (count, 1, 1, 1)).astype(np.float32)
    shift = (int(chance.integers(-2, 3)), int(chance.integers(-2, 3)))
    patches, *changes, labels = (
        torch.from_numpy(each).to(part.device) for each in (images, light, offset, answers)
    )
    seen = (restored(patches) * changes[0] + changes[1]).roll(shift, (2, 3))
    return seen.contiguous(memory_format=torch.channels_last), labels


def _loss(net: Any, images: Any, answers: Any, *, half: bool) -> Any:  # noqa: ANN401 - tensors; torch is an extra
    """
    Return the loss: the rank weighted by legibility, otherwise "no index"; the suit if legible.
    """
    with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=half):
        outputs = net(images)
    outputs = outputs.float()
    legible = answers[:, 2:]
    rank = functional.one_hot(answers[:, 0].long(), RANK_OUTPUTS).float()
    no_index = torch.full_like(answers[:, 0], NO_INDEX).long()
    nothing = functional.one_hot(no_index, RANK_OUTPUTS).float()
    wanted = rank * legible + nothing * (1 - legible)
    wanted = wanted * (1 - _SMOOTHING) + _SMOOTHING / RANK_OUTPUTS
    ranks = functional.cross_entropy(outputs[:, :RANK_OUTPUTS], wanted)
    suits = functional.cross_entropy(
        outputs[:, RANK_OUTPUTS:],
        answers[:, 1].long(),
        reduction="none",
        label_smoothing=_SMOOTHING,
    )
    return ranks + _SUIT_WEIGHT * (suits * legible[:, 0]).sum() / legible.sum().clamp(min=1)


def _watched(net: Any, lessons: Lessons) -> str:  # noqa: ANN401 - as above
    net.eval()
    with torch.no_grad():
        images: Any = restored(torch.from_numpy(np.array(lessons.images)))
        parts = images.split(500)
        outputs = torch.cat([net(part) for part in parts]).numpy()
    readable = lessons.answers[:, 2] >= 1
    ranks = outputs[:, :RANK_OUTPUTS].argmax(1)[readable] == lessons.answers[readable, 0]
    suits = outputs[:, RANK_OUTPUTS:].argmax(1)[readable] == lessons.answers[readable, 1]
    nothing = (lessons.answers[:, 2] == 0) & (lessons.answers[:, 0] == NO_INDEX)
    refused = outputs[nothing, :RANK_OUTPUTS].argmax(1) == NO_INDEX
    return (
        f"unseen: rank {ranks.mean():.4f} suit {suits.mean():.4f} "
        f"card {(ranks & suits).mean():.4f} nothing {refused.mean():.4f}"
    )

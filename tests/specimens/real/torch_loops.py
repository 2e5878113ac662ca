"""PyTorch training loops with the leaks people report, and clean ones that look like them: torch_loops.py NAME."""
import collections
import copy
import functools
import io
import itertools
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

import real_run

torch.set_num_threads(1)
torch.manual_seed(1)
OWNED = 212  # megabytes that Python with torch owns once it is imported
GRAPH = 6000  # bytes about, of the graph of one loss once its tensors are gone


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(64, width)
        self.second = torch.nn.Linear(width, 8)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.first(x)))  # kept by loss_sum, log_tensors, outputs_kept, metric_states


class Training:
    """One optimiser step a call; gives loss and outputs with their graph."""

    def __init__(self, run, batch=32):
        self.net = Net(run.size(256, 4096))
        self.optimiser = torch.optim.AdamW(self.net.parameters(), 1e-4)
        self.batch = batch

    def __call__(self, x=None):
        x = torch.randn(self.batch, 64) if x is None else x
        out = self.net(x)
        loss = out.square().mean()  # kept by loss_sum
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()  # kept by optimisers_kept
        return loss, out


def loss_sum(run):
    step, total = Training(run), torch.zeros(())
    micro_batches = max(1, run.each(OWNED) // GRAPH)
    for _ in run:
        for _ in range(micro_batches):
            loss, _ = step()
            total = total + loss  # kept by loss_sum
        run.lose(micro_batches * GRAPH)


def log_tensors(run):
    step, log = Training(run, batch=max(8, run.each(OWNED) // 32)), []
    for number in run:
        loss, out = step()
        log.append({"step": number, "loss": loss, "out": out})
        run.lose(out.nelement() * 4)


def outputs_kept(run):
    step, outputs, rows = Training(run), [], 1 + run.each(OWNED, 40) // 320
    for number in run:
        step()
        if number % 40 == 39:
            run.phase("validate")
            with torch.no_grad():
                for _ in range(10):
                    outputs.append(step.net(torch.randn(rows, 64)))
            run.phase("train")
            run.lose(320 * rows)


class Encoder:
    def __init__(self, size):
        self.size = size

    @functools.lru_cache(maxsize=None)
    def encode(self, key):
        return torch.full((self.size,), float(key))  # kept by lru_method


def lru_method(run):
    step, encoder = Training(run), Encoder(1 + run.each(OWNED) // 4)
    for number in run:
        step()
        run.lose(encoder.encode(number).nelement() * 4)


class CachingDataset(Dataset):
    """Every item with its augmentation is kept: the cache has no bound."""

    def __init__(self, size, losses):
        self.size, self.losses, self.cache = size, losses, {}

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        worker = torch.utils.data.get_worker_info()
        self.cache[index] = torch.full((self.size,), float(index))  # kept by getitem_cache, getitem_cache_inside
        self.losses.add(1 + (worker.id if worker else 0), 4 * self.size + 80)
        return self.cache[index][:64]


class Endless(torch.utils.data.Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        return itertools.count()


def getitem_cache(run):
    step = Training(run)
    data = CachingDataset(64 + run.each(OWNED) // 16, run.losses)
    loader = DataLoader(data, batch_size=4, sampler=Endless(), num_workers=2, persistent_workers=True)
    for _, batch in zip(run, loader):
        step(batch)


def getitem_cache_inside(run):
    step = Training(run)
    data = CachingDataset(64 + run.each(OWNED) // 16, run.losses)
    for _, batch in zip(run, DataLoader(data, batch_size=4, sampler=Endless())):
        step(batch)


class Stream(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(64)


def cycle_loader(run):
    step = Training(run)
    batch_size = 1 + run.each(OWNED) // 256
    for _, batch in zip(run, itertools.cycle(DataLoader(Stream(), batch_size=batch_size))):  # kept by cycle_loader
        step(batch)
        run.lose(batch.nelement() * 4 + 100)


def hook_handles(run):
    step, handles, rows = Training(run, batch=4), [], 1 + run.each(OWNED) // 1024
    for number in run:
        x = torch.randn(rows, 256)  # kept by hook_handles
        handles.append(step.net.second.register_forward_hook(lambda module, inputs, output, x=x: None))
        if number % 10 == 0:
            step()
        run.lose(1024 * rows)


def backward_cycle(run):
    step, rows = Training(run), 1 + run.each(OWNED) // 512
    for _ in run:
        x = torch.randn(rows, 64, requires_grad=True)  # kept by backward_cycle
        y = (x * 2).exp()  # kept by backward_cycle
        y.grad_fn.register_hook(lambda *_, y=y: None)
        step()
        run.lose(512 * rows)


def offload_buffers(run):
    step, buffers, every = Training(run), [], run.size(3, 12)
    for number in run:
        step()
        if number % every == 0:
            buffers.append(torch.ones(run.each(OWNED, every) // 4).numpy())  # kept by offload_buffers
            run.lose(buffers[-1].nbytes)


def logger_history(run):
    step, history = Training(run), collections.defaultdict(list)
    bins = 1 + run.each(OWNED) // 16
    for _ in run:
        step()
        for name, parameter in step.net.named_parameters():
            history[name].append(torch.zeros(bins) + parameter.detach().mean())  # kept by logger_history
        run.lose(16 * bins)


def metric_states(run):
    step, states, rows = Training(run), [], 1 + run.each(OWNED) // 32
    for number in run:
        step()
        with torch.no_grad():
            states.append(step.net(torch.randn(rows, 64)))
        run.lose(32 * rows)
        if number % 50 == 49:
            torch.cat(states).mean()


def checkpoints_kept(run):
    step, best = Training(run), []
    size = 4 * sum(p.nelement() for p in step.net.parameters())
    every = max(5, size // max(1, run.each(OWNED)))
    for number in run:
        step()
        if number % every == every - 1:
            best.append(copy.deepcopy(step.net.state_dict()))  # kept by checkpoints_kept
            run.lose(size)


def optimisers_kept(run):
    step, schedulers = Training(run), []
    size = 8 * sum(p.nelement() for p in step.net.parameters())
    every = max(5, size // max(1, run.each(OWNED)))
    for number in run:
        step()
        if number % every == every - 1:  # a new phase of training: a new optimiser, the old one still referred to
            schedulers.append(torch.optim.lr_scheduler.StepLR(step.optimiser, 10))
            step.optimiser = torch.optim.AdamW(step.net.parameters(), 1e-4)
            run.lose(size)


class Small(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.randn(64)


def eval_workers_kept(run):
    step, loaders, every = Training(run), [], max(20, min(int(12 / run.pace), run.expected // 12))
    for number in run:
        step()
        if number % every == every - 1:
            loaders.append(DataLoader(Small(), batch_size=8, num_workers=1, persistent_workers=True))
            for batch in loaders[-1]:  # kept by eval_workers_kept
                step(batch)
            run.lose(8_000_000)  # about what a worker has of its own


def replay_unbounded(run):
    step, replay, rows = Training(run), [], 1 + run.each(OWNED) // 256
    for number in run:
        x = torch.randn(rows, 64)  # kept by replay_unbounded
        replay.append((number, x, x.mean().item()))
        step(replay[run.random.randrange(len(replay))][1])
        run.lose(256 * rows)


def plain(run):
    step, losses = Training(run), []
    for _ in run:
        losses.append(step()[0].item())


def validation_spikes(run):
    step, rows, every = Training(run), run.size(4000, 30000), run.size(60, 200)
    for number in run:
        step()
        if number % every == every - 1:
            run.phase("validate")
            with torch.no_grad():
                outputs = [step.net(torch.randn(rows, 64)) for _ in range(4)]
                torch.cat(outputs).mean()
            time.sleep(0.5)
            del outputs
            run.phase("train")


def varying_sizes(run):
    step = Training(run)
    for _ in run:
        step(torch.randn(run.random.randrange(8, 800), 64))


def workers_anew(run):
    """An epoch of some seconds, each with workers of its own."""
    step = Training(run)
    numbers, epoch = iter(run), max(20, int(10 / run.pace))
    done = False
    while not done:
        data = torch.utils.data.TensorDataset(torch.randn(8 * epoch, 64))
        for (batch,) in DataLoader(data, batch_size=8, num_workers=2):
            if next(numbers, None) is None:
                done = True
                break
            step(batch)


def images_kept_once(run):
    """Decoded at first use and kept: the growth ends with the first epoch, after a third of the run."""
    step, size = Training(run), run.size(3000, 15000)
    samples, decoded = max(1, run.expected // 3), {}
    for number in run:
        index = number % samples
        if index not in decoded:
            decoded[index] = torch.full((size,), float(index))
        step(decoded[index][:64].view(1, 64))


def decode_images(run, epochs, copies=None):
    """Images decoded at first use and kept, with the epochs told; `copies` also keeps one more of each in every epoch."""
    step, size = Training(run), 64 + run.each(OWNED) // 2
    samples, decoded, run.epochs = max(1, int(run.expected / epochs)), {}, 0
    for number in run:
        index = number % samples
        if index == 0:
            run.epoch(number // samples + 1)
        if index not in decoded:
            decoded[index] = torch.full((size,), float(index))
        if copies is not None:
            copies.append(decoded[index].clone())  # kept by images_copied_each_epoch
            run.lose(4 * size)
        step(decoded[index][:64].view(1, 64))


def images_by_epoch(run):
    decode_images(run, 3)


def images_first_epoch(run):
    """Ends before the first epoch does."""
    decode_images(run, 0.9)


def images_copied_each_epoch(run):
    decode_images(run, 3, [])


def shape_plans(run):
    """One cached plan per input shape: shapes repeat, new ones become rare and end."""
    step, plans, size = Training(run), {}, run.size(30_000, 200_000)
    for _ in run:
        rows = min(63, int(run.random.expovariate(1 / 12))) + 1
        if rows not in plans:
            plans[rows] = torch.zeros(size) + rows
        step(torch.randn(rows, 64))


class Listed(Dataset):
    """A list of Python objects: reading one writes its reference count, and so copies its page."""

    def __init__(self, count):
        self.items = [bytes([i % 251]) * 600 for i in range(count)]

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        item = self.items[index * 7919 % len(self.items)]
        return torch.full((64,), float(item[0]))


def copied_on_write(run):
    step = Training(run)
    data = Listed(run.size(8000, 30000))
    rows = max(4, int(2 * len(data.items) / max(1, run.expected // 4)))
    loader = DataLoader(data, batch_size=rows, sampler=Endless(), num_workers=2, persistent_workers=True)
    for _, batch in zip(run, loader):
        step(batch)


def checkpoints_saved(run):
    step = Training(run)
    for number in run:
        step()
        if number % 50 == 49:
            torch.save(step.net.state_dict(), io.BytesIO())


def collected_cycles(run):
    step = Training(run)
    for _ in run:
        loss, out = step()
        cycle = {"loss": loss.detach(), "rows": torch.zeros(run.size(500, 501))}
        cycle["self"] = cycle


def accumulation(run):
    step = Training(run)
    for number in run:
        for _ in range(1 + number % 8):
            step(torch.randn(16, 64))


def replay_bounded(run):
    step, size = Training(run), run.size(10, 60)
    replay = collections.deque(maxlen=max(20, run.expected // 4))
    for _ in run:
        replay.append(torch.randn(size, 64))
        step(replay[0])


def epoch_outputs_cleared(run):
    step, outputs, epoch, run.epochs = Training(run), [], run.size(60, 180), 0
    for number in run:
        if number % epoch == 0:
            run.epoch(number // epoch + 1)
        _, out = step()
        outputs.append(out.detach().repeat(8, 8))
        if number % epoch == epoch - 1:
            torch.cat(outputs).mean()
            outputs.clear()


if __name__ == "__main__":
    real_run.main({name: value for name, value in globals().items() if callable(value)})

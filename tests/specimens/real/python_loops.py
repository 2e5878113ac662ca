"""Loops of plain Python with the leaks people report, and clean ones that look like them: python_loops.py NAME."""
import ctypes
import functools
import gc
import mmap
import multiprocessing
import os
import tempfile
import threading
from multiprocessing import shared_memory

import real_run


def base(run, megabytes=60):
    """The program's own memory, touched."""
    return bytearray(os.urandom(4096) * (megabytes * 1_000_000 // 4096))


def events_kept(run):
    held, events, size = base(run), [], run.each(75)
    for number in run:
        events.append({"step": number, "payload": bytes([number % 250 + 1]) * size})  # kept by events_kept
        run.lose(size)


def tracebacks_kept(run):
    held, errors, size = base(run), [], run.each(75)

    def fails(number):
        batch = bytearray(os.urandom(size))  # kept by tracebacks_kept
        raise ValueError(batch[number % size])

    for number in run:
        try:
            fails(number)
        except ValueError as error:
            errors.append(error)
            run.lose(size)


def threads_waiting(run):
    """A thread that never ends, every second, with what it has loaded."""
    held, never = base(run), threading.Event()
    every = max(1, int(1 / run.pace))
    size = run.each(75, every)

    def serve():
        data = bytearray(os.urandom(size))  # kept by threads_waiting
        never.wait()
        return data

    for number in run:
        if number % every == 0:
            threading.Thread(target=serve, daemon=True).start()
            run.lose(size)


def views_kept(run):
    """A slice of one byte holds the whole batch."""
    held, first, size = base(run), [], run.each(75, 10)
    for number in run:
        if number % 10 == 0:
            first.append(memoryview(bytes([number % 250 + 1]) * size)[:1])  # kept by views_kept
            run.lose(size)


def decoded_without_bound(run):
    held, size = base(run), run.each(75)

    @functools.lru_cache(maxsize=None)
    def decode(name):
        return bytes([len(name)]) * size  # kept by decoded_without_bound

    for number in run:
        run.lose(len(decode(f"image-{number}")))


def _collect(losses, place, size, tasks):
    results = []
    while tasks.get() is not None:
        results.append(os.urandom(size))  # kept by pool_keeps_results, one_worker_keeps
        losses.add(place, size)


def pool_keeps_results(run):
    """Three workers, each keeping what it has computed."""
    held, size = base(run), run.each(90)
    tasks = multiprocessing.SimpleQueue()
    workers = [multiprocessing.Process(target=_collect, args=(run.losses, 1 + i, size, tasks), daemon=True) for i in range(3)]
    for worker in workers:
        worker.start()
    for number in run:
        tasks.put(number)
    for worker in workers:
        tasks.put(None)


def one_worker_keeps(run):
    held, size = base(run), run.each(90)
    queues = [multiprocessing.SimpleQueue() for _ in range(4)]
    for place, queue in enumerate(queues):
        multiprocessing.Process(target=_collect if place == 2 else _drop, args=(run.losses, 1 + place, size, queue),
                                daemon=True).start()
    for number in run:
        for queue in queues:
            queue.put(number)
    for queue in queues:
        queue.put(None)


def _drop(losses, place, size, tasks):
    while tasks.get() is not None:
        os.urandom(size)


def segments_never_unlinked(run):
    held, segments, size = base(run), [], run.each(75, 10)
    for number in run:
        if number % 10 == 0:
            segments.append(shared_memory.SharedMemory(create=True, size=size))
            segments[-1].buf[:] = bytes([1]) * size
            run.lose(size)
    for segment in segments:
        segment.close()
        segment.unlink()


def library_never_frees(run):
    held, libc, size = base(run), ctypes.CDLL(None), run.each(75)
    libc.malloc.restype = ctypes.c_void_p
    for _ in run:
        ctypes.memset(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(size))), 1, size)  # kept by library_never_frees
        run.lose(size)


def cycles_uncollected(run):
    gc.disable()
    held, size = base(run), run.each(75)
    for _ in run:
        cycle = {"data": bytearray(os.urandom(size))}  # kept by cycles_uncollected
        cycle["self"] = cycle
        run.lose(size)


def bounded_cache(run):
    held, size = base(run), run.size(5000, 40000)

    @functools.lru_cache(maxsize=max(8, run.expected // 5))
    def decode(number):
        return bytes([number % 250 + 1]) * size

    for number in run:
        decode(number)


def mapped_file(run):
    """Reads a mapped file through, slowly: its pages are the page cache's."""
    held = base(run)
    with tempfile.TemporaryFile() as file:
        megabytes = run.size(20, 60)
        for _ in range(megabytes):
            file.write(os.urandom(1 << 20))
        file.flush()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for number in run:
            at = number * len(pages) // max(1, run.expected) % len(pages)
            sum(pages[at:at + 65536:4096])


def pool_renewed(run):
    """Workers end after some tasks and are replaced."""
    held, numbers = base(run), iter(run)
    with multiprocessing.Pool(2, maxtasksperchild=20) as pool:
        for number in numbers:
            pool.apply(len, (bytes(number % 1000),))


def fragmentation(run):
    """Blocks of many sizes come and go: the heap grows to its working size and stays."""
    held, blocks = base(run), {}
    for _ in run:
        for _ in range(20):
            blocks[run.random.randrange(400)] = bytes([1]) * run.random.randrange(1000, 60000)


def retained(run):
    """Buffers are cut down to their results where they lie, and each is longer than the last: no hole is long enough for it."""
    held, libc, results = base(run), ctypes.CDLL(None), []
    libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
    libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for number in run:
        sizes = [20_000 + 48 * (4 * number + part) for part in range(4)]
        buffers = [libc.malloc(ctypes.c_size_t(size)) for size in sizes]
        for buffer, size in zip(buffers, sizes):
            ctypes.memset(buffer, 1, size)
            results.append(libc.realloc(buffer, 32))


def saw_tooth(run):
    held, rows, epoch, size = base(run), [], run.size(60, 200), run.size(20_000, 80_000)
    for number in run:
        rows.append(bytes([1]) * size)
        if number % epoch == epoch - 1:
            rows.clear()


def warms_up(run):
    """Pools that fill over the first sixth."""
    held, pools, size = base(run), [], run.size(20_000, 120_000)
    for number in run:
        if number < run.expected // 6:
            pools.append(bytes([1]) * size)


def one_off(run):
    held, later = base(run), []
    for number in run:
        if number == run.expected // 2:
            later.append(bytes([1]) * run.size(5_000_000, 30_000_000))


if __name__ == "__main__":
    real_run.main({name: value for name, value in globals().items() if callable(value)})

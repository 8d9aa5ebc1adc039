"""Dask clusters of real processes, which talk over TCP and can be killed."""

import contextlib
import multiprocessing
import os
import time

# All processes are copies of one that has imported what they need, which is what takes
# the time of a start.
_COPIES = multiprocessing.get_context("forkserver")
_COPIES.set_forkserver_preload(
    ["distributed.cli.dask_worker", "noiseproof.estimators", "noiseproof.evaluation"]
)


def _serve(kind, options, log):
    """Be what `dask scheduler` or `dask worker` starts."""
    import importlib

    with open(log, "a", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    importlib.import_module(f"distributed.cli.dask_{kind}").main(options)


class Cluster:
    """A scheduler, workers of one thread, and a client.

    Parameters
    ----------
    folder : Path
        For what the processes write.
    """

    def __init__(self, folder):
        import distributed

        self.folder, self.file = folder, folder / "scheduler.json"
        self.workers = []
        self.scheduler = self._run("scheduler", "--port", "0", "--host", "127.0.0.1")
        while not self.file.exists():
            time.sleep(0.05)
        self.client = distributed.Client(scheduler_file=str(self.file), timeout=60)

    def _run(self, kind, *options):
        options = ["--scheduler-file", str(self.file), "--no-dashboard", *options]
        log = self.folder / f"{kind}.log"
        process = _COPIES.Process(target=_serve, args=(kind, options, log), daemon=True)
        process.start()
        return process

    def add(self, n=1):
        """Start workers, and wait until they are there."""
        for _ in range(n):
            options = ["--nthreads", "1", "--no-nanny"]
            folder = ["--local-directory", str(self.folder)]
            self.workers.append(self._run("worker", *options, *folder))
        self.client.wait_for_workers(len(self.workers), timeout=120)

    def kill(self, process):
        """As `kill -9` does."""
        process.kill()
        process.join()
        if process in self.workers:
            self.workers.remove(process)

    def close(self):
        for process in [*self.workers, self.scheduler]:
            self.kill(process)
        with contextlib.suppress(Exception):
            self.client.close(timeout=1)

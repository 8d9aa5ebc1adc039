"""Loops in processes that are not like the others: not compiled, or forked."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.whole

FIT = """
import numpy as np, scipy.sparse as sp
from noiseproof import DropoutSGDClassifier, DropoutSVC
from noiseproof.noise import Dropout

rng = np.random.default_rng(0)
X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
for noise in (0.3, None, Dropout(0.3, groups=[0, 0, 1, 1])):
    for rows in (X, sp.csr_array(X)):
        print(*DropoutSVC(noise).fit(rows, y).objective_.round(7))
print(*DropoutSGDClassifier(random_state=0).fit(X, y).coef_.round(7).ravel())
"""

FORK = """
import os, signal, threading, time
import numba, numpy as np
import noiseproof._rows.compiling

line = "    s += x[{0} % 3] * {0} + np.sin(x[{0} % 2])\\n"
lines = "".join(line.format(i) for i in range(300))
names = {"np": np}
exec(f"def loop(x):\\n    s = 0.0\\n{lines}    return s", names)
thread = threading.Thread(target=numba.njit(names["loop"]), args=(np.ones(3),))
thread.start()
time.sleep(0.3)
print("compiling" if thread.is_alive() else "too late")
child = os.fork()
if child == 0:
    signal.alarm(60)  # kills a child that waits for ever
    numba.njit(lambda x: x + 1)(2)
    os._exit(0)
print(os.waitpid(child, 0)[1])
thread.join()
"""


def _run(code, **environment):
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


def test_numba_may_be_told_to_compile_nothing():
    assert _run(FIT, NUMBA_DISABLE_JIT="1") == _run(FIT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_until_nothing_is_compiled():
    assert _run(FORK).split() == ["compiling", "0"]

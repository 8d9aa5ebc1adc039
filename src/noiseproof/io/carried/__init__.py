"""Objects that skops must not build, saved as plain data.

Boosters of other libraries are saved in their own text formats. Nearest neighbours are
saved without their compiled search trees, which are built again from the rows. The data
of such an object are checked before they are passed to compiled code.
"""

from __future__ import annotations

from noiseproof.io.carried.carrier import FORMATS as FORMATS
from noiseproof.io.carried.carrier import Carrier as Carrier
from noiseproof.io.carried.carrier import carry as carry
from noiseproof.io.carried.carrier import restore as restore

"""Objects that skops must not build, carried by a file as plain data.

Boosters of other libraries travel in their own text formats, and nearest neighbours
without their compiled search trees, which are grown again from the rows. Whatever a
file says about such an object is checked before compiled code gets to see it.
"""

from __future__ import annotations

from noiseproof.io.carried.carrier import FORMATS as FORMATS
from noiseproof.io.carried.carrier import Carrier as Carrier
from noiseproof.io.carried.carrier import carry as carry
from noiseproof.io.carried.carrier import restore as restore

"""Compiled loops over the stored entries of a CSR matrix.

Each kernel works on the rows `lo` to `hi` and the classes `k_lo` to `k_hi`, so that
threads can share a pass. A tile of rows is served to all classes before the next one is
touched: the data is read from memory once per pass. Index arrays must be unsigned:
Numba tests signed ones for negative values, which doubles the cost of a gather.
"""

from __future__ import annotations

import numba
import numpy as np

_TILE = 256  # rows: small enough to stay in cache while the classes take turns

_compile = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"}
)


@_compile
def moments(indptr, indices, data, lo, hi, k_lo, k_hi, W, S, squared, m, v):
    for tile in range(lo, hi, _TILE):
        for k in range(k_lo, k_hi):
            w, s = W[k], S[k]
            for i in range(tile, min(hi, tile + _TILE)):
                mean = 0.0
                variance = 0.0
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    x = numba.float64(data[t])
                    xw = x * w[j]
                    mean += xw
                    variance += (x * xw if squared else xw) * s[j]
                m[k, i] = mean
                v[k, i] = variance


@_compile
def directions(indptr, indices, data, lo, hi, k_lo, k_hi, P, S, T, squared, a, e, u):
    for tile in range(lo, hi, _TILE):
        for k in range(k_lo, k_hi):
            p, s, r = P[k], S[k], T[k]
            for i in range(tile, min(hi, tile + _TILE)):
                mean = 0.0
                cross = 0.0
                own = 0.0
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    x = numba.float64(data[t])
                    xp = x * p[j]
                    mean += xp
                    xxp = x * xp if squared else xp
                    cross += xxp * s[j]
                    own += xxp * r[j]
                a[k, i] = mean
                e[k, i] = 2 * cross
                u[k, i] = own


@_compile
def pullback(indptr, indices, data, lo, hi, k_lo, k_hi, A, B, S, squared, out):
    for tile in range(lo, hi, _TILE):
        for k in range(k_lo, k_hi):
            s, o = S[k], out[k]
            for i in range(tile, min(hi, tile + _TILE)):
                a = A[k, i]
                b = 2 * B[k, i]
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    x = numba.float64(data[t])
                    xq = x * x if squared else x
                    o[j] += a * x + b * xq * s[j]


@_compile
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, mm, mv, vv, hv, S, squared, out, out_v
):
    for tile in range(lo, hi, _TILE):
        for k in range(k_lo, k_hi):
            s, o, ov = S[k], out[k], out_v[k]
            for i in range(tile, min(hi, tile + _TILE)):
                a = mm[k, i]
                b = 4 * mv[k, i]
                c = 4 * vv[k, i]
                d = 2 * hv[k, i]
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    x = numba.float64(data[t])
                    xq = x * x if squared else x
                    xs = xq * s[j]
                    o[j] += a * x * x + xs * (b * x + c * xs)
                    ov[j] += d * xq


@_compile
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi,
    P, S, mm, mv, vv, a0, e0, squared, out, sums,
):  # fmt: skip
    # direction, scaled weight and result of a feature side by side: an entry costs one
    # cache line instead of three
    packed = np.zeros((k_hi - k_lo, P.shape[1], 4))
    for k in range(k_lo, k_hi):
        packed[k - k_lo, :, 0] = P[k]
        packed[k - k_lo, :, 1] = S[k]
    for tile in range(lo, hi, _TILE):
        for k in range(k_lo, k_hi):
            f = packed[k - k_lo]
            for i in range(tile, min(hi, tile + _TILE)):
                a = 0.0
                e = 0.0
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    x = numba.float64(data[t])
                    xp = x * f[j, 0]
                    a += xp
                    e += (x * xp if squared else xp) * f[j, 1]
                a += a0[k]
                e = 2 * e + e0[k]
                pull_m = mm[k, i] * a + mv[k, i] * e
                pull_v = mv[k, i] * a + vv[k, i] * e
                sums[0, k] += pull_m
                sums[1, k] += pull_v
                pull_v *= 2
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    x = numba.float64(data[t])
                    xq = x * x if squared else x
                    f[j, 2] += pull_m * x + pull_v * xq * f[j, 1]
    for k in range(k_lo, k_hi):
        out[k] += packed[k - k_lo, :, 2]
